package sim_test

import (
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/telemetry/metrics"
)

// proven are the names of the metrics that a scenario has compared.
var proven = map[string]bool{}

// snapshot are all metrics at one moment.
type snapshot map[string]*dto.MetricFamily

// read reads all metrics, as Prometheus does.
func read(t *testing.T, m *metrics.Metrics) snapshot {
	t.Helper()
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	s := snapshot{}
	for _, f := range families {
		s[f.GetName()] = f
	}
	return s
}

// value returns the sum of the series of a selector such as name{label=value,label=value}. Of a
// histogram, it is the number of values; with the suffix _sum, their sum. ok is false if there is
// no such series.
func (s snapshot) value(selector string) (sum float64, ok bool) {
	name, rest, _ := strings.Cut(selector, "{")
	family, sums := s[name], false
	if family == nil {
		family, sums = s[strings.TrimSuffix(name, "_sum")], true
	}
	if family == nil {
		return 0, false
	}
	proven[family.GetName()] = true
	var want []string
	if rest != "" {
		want = strings.Split(strings.TrimSuffix(rest, "}"), ",")
	}
series:
	for _, one := range family.GetMetric() {
		have := map[string]string{}
		for _, l := range one.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		for _, pair := range want {
			if label, value, _ := strings.Cut(pair, "="); have[label] != value {
				continue series
			}
		}
		ok = true
		switch h := one.GetHistogram(); {
		case h != nil && sums:
			sum += h.GetSampleSum()
		case h != nil:
			sum += float64(h.GetSampleCount())
		default:
			sum += one.GetCounter().GetValue() + one.GetGauge().GetValue()
		}
	}
	return sum, ok
}

// is requires a value exactly.
func (s snapshot) is(t *testing.T, selector string, want float64) {
	t.Helper()
	have, ok := s.value(selector)
	require.True(t, ok, "there is no %s", selector)
	require.InDelta(t, want, have, 1e-6, selector)
}

// between requires a value within bounds.
func (s snapshot) between(t *testing.T, selector string, least, most float64) {
	t.Helper()
	have, ok := s.value(selector)
	require.True(t, ok, "there is no %s", selector)
	require.GreaterOrEqual(t, have, least, selector)
	require.LessOrEqual(t, have, most, selector)
}
