package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/telemetry/tracing/export"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Tracing configures the export of traces. It is off without an endpoint, here or in the standard
// variables OTEL_EXPORTER_OTLP_*.
type Tracing struct {
	Endpoint           string            `json:"endpoint"`            // URL of a receiver of OTLP over HTTP, such as https://collector:4318
	Headers            map[string]string `json:"headers"`             // values are env:NAME or file:PATH, read at the start
	SampleRatio        *float64          `json:"sample_ratio"`        // share of runs, 0 to 1; default 1
	ResourceAttributes map[string]string `json:"resource_attributes"` // of all spans, such as deployment.environment.name
}

// Recorder returns the configuration of the recorder. It reads the headers' secrets.
func (t Tracing) Recorder() (export.Config, error) {
	cfg := export.Config{Endpoint: t.Endpoint, SampleRatio: t.SampleRatio, ResourceAttributes: t.ResourceAttributes}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		if !secretref.IsReference(t.Headers[name]) {
			errs = append(errs, fmt.Errorf("tracing.headers.%s: %w", name, secretref.ErrInvalid))
			continue
		}
		value, err := secretref.Read(t.Headers[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("tracing.headers.%s: %w", name, err))
			continue
		}
		if cfg.Headers == nil {
			cfg.Headers = map[string]string{}
		}
		cfg.Headers[name] = strings.TrimSpace(value)
	}
	if len(errs) > 0 {
		return cfg, exit.Usage(errors.Join(errs...))
	}
	return cfg, nil
}
