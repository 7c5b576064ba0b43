package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/agent/telemetry/metrics/shipped"
)

// desc takes name and labels from the text of a description.
var desc = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// known returns the labels of all metrics, by name. A histogram has three names.
func known() map[string][]string {
	list := make(chan *prometheus.Desc)
	go func() { // ends with the metrics
		metrics.New(metrics.Build{}).Describe(list)
		close(list)
	}()
	names := map[string][]string{}
	for d := range list {
		m := desc.FindStringSubmatch(d.String())
		labels := append(strings.Split(m[2], ","), "instance", "le")
		for _, suffix := range []string{"", "_bucket", "_count", "_sum"} {
			names[m[1]+suffix] = labels
		}
	}
	return names
}

var (
	nameForm  = regexp.MustCompile(`\b(jobagent|process|go)_[a-z0-9_]+\b`)
	selector  = regexp.MustCompile(`\b(jobagent_[a-z0-9_]+)\{([^}]*)\}`)
	labelForm = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
)

// Rules and dashboard name metrics and labels that exist, and the dashboard shows every metric.
func TestNamesExist(t *testing.T) {
	t.Parallel()
	names := known()
	require.Contains(t, names, "jobagent_tasks_total")
	used := map[string]bool{}
	for file, text := range map[string]string{"rules.yml": string(shipped.Rules), "dashboard.json": queries(t)} {
		for _, name := range nameForm.FindAllString(text, -1) {
			if _, ok := names[name]; !ok {
				t.Errorf("%s: there is no metric %s", file, name)
			}
			used[name] = used[name] || file == "dashboard.json"
		}
		for _, m := range selector.FindAllStringSubmatch(text, -1) {
			for _, label := range labelForm.FindAllStringSubmatch(m[2], -1) {
				require.Contains(t, names[m[1]], label[1], "%s: label of %s", file, m[1])
			}
		}
	}
	for name := range names {
		if !strings.HasPrefix(name, "jobagent_") || used[name] || used[name+"_bucket"] || regexp.MustCompile(`_(bucket|count|sum)$`).MatchString(name) {
			continue
		}
		t.Errorf("the dashboard does not show %s", name)
	}
}

// queries returns all queries of the dashboard.
func queries(t *testing.T) string {
	t.Helper()
	var d struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
		Templating struct {
			List []struct {
				Query string `json:"query"`
			} `json:"list"`
		} `json:"templating"`
	}
	require.NoError(t, json.Unmarshal(shipped.Dashboard, &d))
	var b strings.Builder
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			b.WriteString(q.Expr + "\n")
		}
	}
	for _, v := range d.Templating.List {
		b.WriteString(v.Query + "\n")
	}
	return b.String()
}

// Each alert has a severity, a summary and a run book that says what it means and what to do.
func TestRulesHaveARunBook(t *testing.T) {
	t.Parallel()
	alerts := strings.Split(string(shipped.Rules), "- alert: ")[1:]
	require.Len(t, alerts, 25)
	for _, a := range alerts {
		name, _, _ := strings.Cut(a, "\n")
		require.Regexp(t, `labels: \{severity: (critical|warning)\}`, a, name)
		require.Regexp(t, `(?m)^          summary: .+$`, a, name)
		require.Regexp(t, `(?s)runbook: >-\n\s+Meaning: .+ Do: |(?s)runbook: >-\n\s+Meaning: .+\n\s+Do: `, a, name)
	}
}

// promtool reads the queries of the dashboard.
func TestDashboardQueriesParse(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is missing: .ci/promtool installs it")
	}
	var b strings.Builder
	b.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	n := 0
	for q := range strings.Lines(queries(t)) {
		if strings.HasPrefix(q, "label_values") || strings.HasPrefix(q, "prometheus") {
			continue
		}
		q = strings.NewReplacer("$__rate_interval", "5m", "$control_database", ".*", "$instance", ".*", "'", "''").Replace(strings.TrimSpace(q))
		n++
		fmt.Fprintf(&b, "      - record: query:%d\n        expr: '%s'\n", n, q)
	}
	require.Greater(t, n, 50)
	file := filepath.Join(t.TempDir(), "queries.yml")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
