// Package export sends traces to a receiver of OTLP over HTTP. It stands apart from package tracing
// because the exporter brings gRPC and protobuf, which a user of recorders does not need.
package export

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/telemetry/tracing"
)

// Config configures the export. What it leaves out comes from the standard variables OTEL_*
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
type Config struct {
	// Endpoint is the URL of a receiver of OTLP over HTTP, such as https://collector:4318. Without
	// a path, /v1/traces is appended. Empty: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or
	// OTEL_EXPORTER_OTLP_ENDPOINT; without these the export is off.
	Endpoint string
	// Headers are sent with each export, for authentication.
	Headers map[string]string
	// SampleRatio is the share of runs that are exported; nil: OTEL_TRACES_SAMPLER, or all.
	SampleRatio *float64
	// ResourceAttributes are added to those of OTEL_RESOURCE_ATTRIBUTES.
	ResourceAttributes map[string]string
	// Version is the program's, and Instance identifies the process among others.
	Version, Instance string
}

// The defaults of [tracing.Sizes]. The queue holds the attempts of some ten thousand targets; a
// receiver that is down costs some 10 MB of memory, not more.
const (
	defaultQueue   = 16_384
	defaultBatch   = 512
	defaultDelay   = time.Second
	defaultTimeout = 10 * time.Second
)

// On reports whether the configuration or the environment asks for an export.
func (c Config) On() bool {
	if disabled, _ := strconv.ParseBool(os.Getenv("OTEL_SDK_DISABLED")); disabled {
		return false
	}
	if exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		return false
	}
	return c.Endpoint != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" ||
		os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
}

// New starts the export, or returns nil if it is off. It makes no connection. The caller closes the
// recorder.
func New(ctx context.Context, c Config, log *zap.Logger) (*tracing.Recorder, error) {
	if !c.On() {
		return nil, nil
	}
	ratio, err := c.ratio()
	if err != nil {
		return nil, err
	}
	s, err := readSizes()
	if err != nil {
		return nil, err
	}
	options, err := c.options()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	res, err := c.resource(ctx)
	if err != nil {
		return nil, errors.Join(err, exporter.Shutdown(ctx))
	}
	return tracing.NewRecorder(exporter, res, ratio, s, log), nil
}

// options returns the options of the exporter. Options that are not given come from OTEL_*.
func (c Config) options() ([]otlptracehttp.Option, error) {
	var options []otlptracehttp.Option
	endpoint := c.Endpoint
	if endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return nil, errors.New("invalid tracing.endpoint: want a URL such as https://collector:4318, without a user")
		}
		if len(c.Headers) > 0 && u.Scheme == "http" && !isLoopback(u.Hostname()) {
			return nil, errors.New("invalid tracing.endpoint: headers hold secrets; want https, or a loopback address")
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces"
		}
		options = append(options, otlptracehttp.WithEndpointURL(u.String()))
	}
	if len(c.Headers) > 0 {
		options = append(options, otlptracehttp.WithHeaders(c.Headers))
	}
	// A batch that the receiver does not take in time is given up: the next one waits behind it.
	options = append(options, otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: 500 * time.Millisecond, MaxInterval: 5 * time.Second, MaxElapsedTime: 30 * time.Second,
	}))
	return options, nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ratio returns the share of runs that are exported.
func (c Config) ratio() (float64, error) {
	ratio, from := 1.0, ""
	if c.SampleRatio != nil {
		ratio, from = *c.SampleRatio, "tracing.sample_ratio"
	} else {
		switch sampler := os.Getenv("OTEL_TRACES_SAMPLER"); sampler {
		case "", "always_on", "parentbased_always_on":
		case "always_off", "parentbased_always_off":
			ratio = 0
		case "traceidratio", "parentbased_traceidratio":
			text := os.Getenv("OTEL_TRACES_SAMPLER_ARG")
			if text == "" {
				break
			}
			from = "OTEL_TRACES_SAMPLER_ARG"
			var err error
			if ratio, err = strconv.ParseFloat(text, 64); err != nil {
				return 0, fmt.Errorf("invalid %s %q: want a number from 0 to 1", from, text)
			}
		default:
			return 0, fmt.Errorf("invalid OTEL_TRACES_SAMPLER %q: want always_on, always_off or traceidratio", sampler)
		}
	}
	if !(ratio >= 0 && ratio <= 1) {
		return 0, fmt.Errorf("invalid %s %v: want a number from 0 to 1", from, ratio)
	}
	return ratio, nil
}

// readSizes reads the sizes and times of a batch span processor.
func readSizes() (tracing.Sizes, error) {
	s := tracing.Sizes{Queue: defaultQueue, Batch: defaultBatch, Delay: defaultDelay, Timeout: defaultTimeout}
	var errs []error
	read := func(name string, into func(n int)) {
		text := os.Getenv(name)
		if text == "" {
			return
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			errs = append(errs, fmt.Errorf("invalid %s %q: want a number above 0", name, text))
			return
		}
		into(n)
	}
	read("OTEL_BSP_MAX_QUEUE_SIZE", func(n int) { s.Queue = n })
	read("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", func(n int) { s.Batch = n })
	read("OTEL_BSP_SCHEDULE_DELAY", func(n int) { s.Delay = time.Duration(n) * time.Millisecond })
	read("OTEL_BSP_EXPORT_TIMEOUT", func(n int) { s.Timeout = time.Duration(n) * time.Millisecond })
	s.Batch = min(s.Batch, s.Queue)
	return s, errors.Join(errs...)
}

// resource describes the process that exports.
func (c Config) resource(ctx context.Context) (*resource.Resource, error) {
	own := []attribute.KeyValue{semconv.ServiceName("jobagent")}
	if c.Version != "" {
		own = append(own, semconv.ServiceVersion(c.Version))
	}
	if c.Instance != "" {
		own = append(own, semconv.ServiceInstanceID(c.Instance))
	}
	var given []attribute.KeyValue
	for _, name := range slices.Sorted(maps.Keys(c.ResourceAttributes)) {
		if strings.TrimSpace(name) == "" {
			return nil, errors.New("invalid tracing.resource_attributes: a name is empty")
		}
		given = append(given, attribute.String(name, c.ResourceAttributes[name]))
	}
	res, err := resource.New(ctx,
		resource.WithAttributes(own...), resource.WithHost(), resource.WithTelemetrySDK(),
		resource.WithFromEnv(), resource.WithAttributes(given...)) // later ones take precedence
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("tracing: describe the process: %w", err)
	}
	return res, nil
}
