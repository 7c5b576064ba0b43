package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/rest/scrape"
	"github.com/jobagent/jobagent/agent/telemetry/tracing/export"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Metrics configures what Prometheus may read. A front serves metrics at /metrics of its address.
type Metrics struct {
	Off       bool   `json:"off"`       // collect nothing
	Anonymous bool   `json:"anonymous"` // the front's /metrics needs no caller; default: one with the role reader
	Listen    string `json:"listen"`    // host:port of an address for metrics only; default: none
	TLS       struct {
		Certificate string `json:"certificate"` // path of a PEM file
		Key         string `json:"key"`         // path of a PEM file
	} `json:"tls"` // of listen
	InsecureHTTP bool   `json:"insecure_http"` // serve plain HTTP on listen, although it is not a loopback address
	Token        string `json:"token"`         // bearer token for listen: env:NAME or file:PATH; default: none is needed
}

// Check returns all faults that can be found without other parts of the configuration.
func (m Metrics) Check() error {
	var errs []error
	if m.Listen != "" {
		errs = append(errs, m.server().Check())
	} else if m.TLS.Certificate+m.TLS.Key+m.Token != "" || m.InsecureHTTP {
		errs = append(errs, errors.New("tls, insecure_http and token need listen"))
	}
	if m.Token != "" && !secretref.IsReference(m.Token) {
		errs = append(errs, errors.New("invalid token: want env:NAME or file:PATH"))
	}
	if m.Off && (m.Listen != "" || m.Anonymous) {
		errs = append(errs, errors.New("off and other settings contradict each other"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// server returns the configuration of the server, without the token.
func (m Metrics) server() scrape.Config {
	return scrape.Config{Listen: m.Listen, Certificate: m.TLS.Certificate, Key: m.TLS.Key, InsecureHTTP: m.InsecureHTTP}
}

// Server returns the configuration of the server for Listen. It reads the token.
func (m Metrics) Server() (scrape.Config, error) {
	cfg := m.server()
	if m.Token == "" {
		return cfg, nil
	}
	text, err := secretref.Read(m.Token)
	if err != nil {
		return cfg, fmt.Errorf("metrics.token: %w", err)
	}
	if cfg.Token = strings.TrimSpace(text); cfg.Token == "" {
		return cfg, fmt.Errorf("metrics.token: %s is empty", m.Token)
	}
	return cfg, nil
}

// MetricsName returns the name of one of the control databases in metrics: that of its entry, with
// its server if several have the same name.
func MetricsName(list []ControlDatabase, d ControlDatabase) string {
	same := 0
	for _, other := range list {
		if strings.EqualFold(other.Name, d.Name) {
			same++
		}
	}
	if same > 1 {
		return d.Server + "~" + d.Name
	}
	return d.Name
}

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
