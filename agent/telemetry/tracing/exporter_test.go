package tracing_test // these tests of package export share a binary with those of recorders

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/telemetry/tracing/export"
)

// Without an endpoint, or where the environment disables it, the export is off.
func TestExportIsOff(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		t.Setenv(name, "")
	}
	r, err := export.New(t.Context(), export.Config{Headers: map[string]string{"a": "b"}}, zap.NewNop())
	require.NoError(t, err)
	require.Nil(t, r)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	require.True(t, export.Config{}.On())
	t.Setenv("OTEL_SDK_DISABLED", "true")
	require.False(t, export.Config{Endpoint: "http://127.0.0.1:1"}.On())
}

func TestConfigRefuses(t *testing.T) {
	ratio := 1.5
	for want, c := range map[string]struct {
		cfg export.Config
		env map[string]string
	}{
		"invalid tracing.endpoint: want a URL":                 {cfg: export.Config{Endpoint: "collector:4318"}},
		"without a user":                                       {cfg: export.Config{Endpoint: "https://u:p@collector"}},
		"headers hold secrets; want https":                     {cfg: export.Config{Endpoint: "http://collector:4318", Headers: map[string]string{"k": "hunter2"}}},
		"invalid tracing.sample_ratio 1.5":                     {cfg: export.Config{Endpoint: "http://localhost", SampleRatio: &ratio}},
		`invalid OTEL_TRACES_SAMPLER "jaeger"`:                 {cfg: export.Config{Endpoint: "http://localhost"}, env: map[string]string{"OTEL_TRACES_SAMPLER": "jaeger"}},
		`invalid OTEL_TRACES_SAMPLER_ARG "x"`:                  {cfg: export.Config{Endpoint: "http://localhost"}, env: map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "x"}},
		`invalid OTEL_BSP_MAX_QUEUE_SIZE "0"`:                  {cfg: export.Config{Endpoint: "http://localhost"}, env: map[string]string{"OTEL_BSP_MAX_QUEUE_SIZE": "0"}},
		"invalid tracing.resource_attributes: a name is empty": {cfg: export.Config{Endpoint: "http://localhost", ResourceAttributes: map[string]string{" ": "x"}}},
	} {
		t.Run(want, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			r, err := export.New(t.Context(), c.cfg, zap.NewNop())
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "hunter2")
			require.NotContains(t, err.Error(), "u:p")
			require.Nil(t, r)
		})
	}
}
