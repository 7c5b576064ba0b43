package metrics_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/telemetry/metrics/shipped"
)

// go test ./agent/telemetry/metrics/shipped -run TestDashboard -dashboard.write writes the file.
var writeDashboard = flag.Bool("dashboard.write", false, "TestDashboard writes dashboard.json in place of comparing it")

// query is a query of a panel. In expr, $db stands for the selection of control databases, $all for
// that and the instances, and $inst for the instances.
type query struct{ legend, expr string }

// panel is a panel of the dashboard.
type panel struct {
	title, description string
	kind               string // timeseries or stat
	unit               string // of Grafana: s, ops, short, percentunit, bytes
	width              int    // of 24
	queries            []query
}

// quantiles returns the queries of the 50th and 99th percentile of a histogram.
func quantiles(histogram, by string) []query {
	var list []query
	for _, q := range []string{"0.5", "0.99"} {
		legend := "p" + strings.TrimSuffix(strings.TrimPrefix(q, "0."), "0")
		if q == "0.5" {
			legend = "p50"
		}
		for name := range strings.SplitSeq(by, ",") {
			legend += " {{" + strings.TrimSpace(name) + "}}"
		}
		list = append(list, query{legend, "histogram_quantile(" + q + ", sum by (" + by + ", le) (rate(" + histogram + "_bucket{$all}[$__rate_interval])))"})
	}
	return list
}

// sections are the rows of the dashboard.
var sections = []struct {
	title  string
	panels []panel
}{
	{"Fleet", []panel{
		{"Agents at work", "Terms under which agents work now. 0: nothing runs.", "stat", "short", 4, []query{{"{{control_database}}", `sum by (control_database) (jobagent_terms_active{$all})`}}},
		{"Active runs", "", "stat", "short", 4, []query{{"{{control_database}}", `sum by (control_database) (max by (control_database, lifecycle) (jobagent_active_runs{$db}))`}}},
		{"Runs failed, last hour", "", "stat", "short", 4, []query{{"{{control_database}}", `sum by (control_database) (max by (control_database, lifecycle) (increase(jobagent_runs_total{$db, lifecycle=~"Failed|TimedOut"}[1h])))`}}},
		{"Instants skipped, last hour", "", "stat", "short", 4, []query{{"{{control_database}}", `sum by (control_database) (max by (control_database, cause) (increase(jobagent_schedule_skips_total{$db}[1h])))`}}},
		{"Core restarts, last day", "Ends of a core before the agent was stopped.", "stat", "short", 4, []query{{"{{cause}}", `sum by (cause) (increase(jobagent_core_restarts_total{$all}[1d])) > 0`}}},
		{"Paused", "1: the control database is paused, and nothing starts.", "stat", "short", 4, []query{{"{{control_database}}", `max by (control_database) (jobagent_control_database_paused{$db})`}}},
		{"Versions", "", "stat", "short", 4, []query{{"{{version}}", `count by (version) (jobagent_build_info{$inst})`}}},
		{"Runs that ended", "By lifecycle, for a minute.", "timeseries", "short", 12, []query{{"{{lifecycle}}", `sum by (lifecycle) (max by (control_database, lifecycle) (rate(jobagent_runs_total{$db}[$__rate_interval]))) * 60`}}},
		{"Active runs by lifecycle", "", "timeseries", "short", 12, []query{{"{{lifecycle}}", `sum by (lifecycle) (max by (control_database, lifecycle) (jobagent_active_runs{$db}))`}}},
		{"Tasks that ended", "By type and outcome.", "timeseries", "ops", 12, []query{{"{{command_type}} {{outcome}}", `sum by (command_type, outcome) (rate(jobagent_tasks_total{$all}[$__rate_interval]))`}}},
		{"Workers", "", "timeseries", "short", 12, []query{
			{"busy {{control_database}}", `sum by (control_database) (jobagent_workers_busy{$all})`}, {"all {{control_database}}", `sum by (control_database) (jobagent_workers{$all})`},
			{"floor {{control_database}}", `sum by (control_database) (jobagent_workers_floor{$all})`}, {"lent {{control_database}}", `sum by (control_database) (jobagent_workers_lent{$all})`},
		}},
		{"Queues", "Tasks that wait for a worker, tasks held, and outcomes that wait for the control database.", "timeseries", "short", 12, []query{
			{"queued {{control_database}}", `sum by (control_database) (jobagent_queue_tasks{$all})`}, {"held {{control_database}}", `sum by (control_database) (jobagent_tasks_held{$all})`},
			{"outbox {{control_database}}", `sum by (control_database) (jobagent_outbox_outcomes{$all})`},
		}},
		{"Claims and signals to cancel", "", "timeseries", "ops", 12, []query{
			{"claimed {{control_database}}", `sum by (control_database) (rate(jobagent_tasks_claimed_total{$all}[$__rate_interval]))`},
			{"cancel {{control_database}}", `sum by (control_database) (rate(jobagent_cancel_signals_total{$all}[$__rate_interval]))`},
		}},
	}},
	{"Latency", []panel{
		{"From claim to worker", "", "timeseries", "s", 8, quantiles("jobagent_claim_latency_seconds", "control_database")},
		{"From outcome to acknowledgement", "", "timeseries", "s", 8, quantiles("jobagent_delivery_latency_seconds", "control_database")},
		{"Passes", "Duration of a pass.", "timeseries", "s", 8, quantiles("jobagent_pass_duration_seconds", "control_database")},
		{"Attempts", "Time for which a worker carried out a task.", "timeseries", "s", 12, quantiles("jobagent_task_duration_seconds", "command_type")},
		{"Lease", "Time left before the process gives its term up, and the least that was left at a renewal (1st percentile).", "timeseries", "s", 12, []query{
			{"left {{instance}} {{control_database}}", `min by (instance, control_database) (jobagent_lease_left_seconds{$all})`},
			{"p1 at renewal {{control_database}}", `histogram_quantile(0.01, sum by (control_database, le) (rate(jobagent_lease_margin_seconds_bucket{$all}[$__rate_interval])))`},
		}},
		{"Advance", "Passes by result, and the time since executions were advanced.", "timeseries", "short", 12, []query{
			{"{{result}}", `sum by (result) (rate(jobagent_passes_total{$all}[$__rate_interval]))`},
			{"age {{control_database}}", `min by (control_database) (jobagent_advance_age_seconds{$all})`},
		}},
		{"Caches", "Share of hits, and size.", "timeseries", "percentunit", 12, []query{
			{"hits {{cache}}", `sum by (cache) (rate(jobagent_cache_reads_total{$all, result="hit"}[$__rate_interval])) / sum by (cache) (rate(jobagent_cache_reads_total{$all}[$__rate_interval]))`},
		}},
	}},
	{"Failures", []panel{
		{"Attempts that failed", "", "timeseries", "ops", 12, []query{{"{{command_type}} {{outcome}}", `sum by (command_type, outcome) (rate(jobagent_tasks_total{$all, outcome=~"Failed|TimedOut|Unknown"}[$__rate_interval]))`}}},
		{"Retries", "", "timeseries", "ops", 12, []query{{"{{command_type}}", `sum by (command_type) (rate(jobagent_task_retries_total{$all}[$__rate_interval]))`}}},
		{"Terms and cores", "", "timeseries", "short", 12, []query{
			{"term starts {{control_database}}", `sum by (control_database) (increase(jobagent_term_starts_total{$all}[$__rate_interval]))`},
			{"{{cause}} {{control_database}}", `sum by (control_database, cause) (increase(jobagent_core_restarts_total{$all}[$__rate_interval]))`},
		}},
		{"Connections to targets that failed", "By class of the error.", "timeseries", "ops", 12, []query{
			{"{{class}}", `sum by (class) (rate(jobagent_target_connection_failures_total{$all}[$__rate_interval]))`},
			{"opened", `sum(rate(jobagent_target_connections_opened_total{$all}[$__rate_interval]))`},
		}},
		{"Logins to targets", "", "timeseries", "s", 12, quantiles("jobagent_target_login_duration_seconds", "control_database")},
		{"Actions", "Attempts by class of the error and status of the answer.", "timeseries", "ops", 12, []query{{"{{command_type}} {{class}} {{status}}", `sum by (command_type, class, status) (rate(jobagent_action_requests_total{$all}[$__rate_interval]))`}}},
		{"Connections of actions", "", "timeseries", "ops", 12, []query{
			{"{{class}}", `sum by (class) (rate(jobagent_outbound_connection_failures_total{$inst}[$__rate_interval]))`},
			{"opened", `sum(rate(jobagent_outbound_connections_opened_total{$inst}[$__rate_interval]))`},
		}},
		{"Time to connect for actions", "", "timeseries", "s", 12, []query{{"p99 {{instance}}", `histogram_quantile(0.99, sum by (instance, le) (rate(jobagent_outbound_connect_duration_seconds_bucket{$inst}[$__rate_interval])))`}}},
	}},
	{"Schedules", []panel{
		{"Lag", "From the due instant to the creation of its run.", "timeseries", "s", 8, quantiles("jobagent_schedule_lag_seconds", "control_database")},
		{"Due instants", "By what has become of them.", "timeseries", "ops", 8, []query{{"{{result}}", `sum by (result) (rate(jobagent_schedule_firings_total{$all}[$__rate_interval]))`}}},
		{"Skipped instants", "By cause.", "timeseries", "short", 8, []query{{"{{cause}}", `sum by (cause) (max by (control_database, cause) (increase(jobagent_schedule_skips_total{$db}[$__rate_interval])))`}}},
	}},
	{"Control database", []panel{
		{"Calls", "", "timeseries", "ops", 12, []query{{"{{client}} {{call}}", `topk(10, sum by (client, call) (rate(jobagent_controldb_call_duration_seconds_count{$all}[$__rate_interval])))`}}},
		{"Duration of calls", "99th percentile of the ten slowest.", "timeseries", "s", 12, []query{{"{{client}} {{call}}", `topk(10, histogram_quantile(0.99, sum by (client, call, le) (rate(jobagent_controldb_call_duration_seconds_bucket{$all}[$__rate_interval]))))`}}},
		{"Errors", "By number.", "timeseries", "ops", 8, []query{{"{{client}} {{error}}", `sum by (client, error) (rate(jobagent_controldb_errors_total{$all}[$__rate_interval]))`}}},
		{"Deadlocks that were repeated", "", "timeseries", "ops", 8, []query{{"{{client}}", `sum by (client) (rate(jobagent_controldb_retries_total{$all}[$__rate_interval]))`}}},
		{"Reads of the numbers of runs", "", "timeseries", "ops", 8, []query{{"{{instance}} {{result}}", `sum by (instance, result) (rate(jobagent_runs_reads_total{$all}[$__rate_interval]))`}}},
		{"Connections", "", "timeseries", "short", 12, []query{
			{"{{client}} {{state}}", `sum by (client, state) (jobagent_controldb_connections{$all})`}, {"{{client}} limit", `sum by (client) (jobagent_controldb_connections_limit{$all})`},
		}},
		{"Waits for a connection", "Waits and seconds of waiting for a second, and connections that were closed.", "timeseries", "short", 12, []query{
			{"{{client}} waits", `sum by (client) (rate(jobagent_controldb_connection_waits_total{$all}[$__rate_interval]))`},
			{"{{client}} seconds", `sum by (client) (rate(jobagent_controldb_connection_wait_seconds_total{$all}[$__rate_interval]))`},
			{"{{client}} closed", `sum by (client) (rate(jobagent_controldb_connections_closed_total{$all}[$__rate_interval]))`},
		}},
	}},
	{"REST and dashboard", []panel{
		{"Requests", "By API and class of the status.", "timeseries", "ops", 12, []query{{"{{surface}} {{status}}", `sum by (surface, status) (rate(jobagent_rest_requests_total{$inst}[$__rate_interval]))`}}},
		{"Duration of requests", "99th percentile of the ten slowest operations.", "timeseries", "s", 12, []query{{"{{surface}} {{operation}}", `topk(10, histogram_quantile(0.99, sum by (surface, operation, le) (rate(jobagent_rest_request_duration_seconds_bucket{$inst}[$__rate_interval]))))`}}},
		{"Connections", "", "timeseries", "short", 8, []query{{"{{instance}}", `jobagent_rest_connections{$inst}`}}},
		{"Streams of the dashboard", "", "timeseries", "short", 8, []query{{"{{instance}}", `jobagent_web_streams{$inst}`}}},
		{"Sign-ins", "", "timeseries", "ops", 8, []query{{"{{result}}", `sum by (result) (rate(jobagent_web_sign_ins_total{$inst}[$__rate_interval]))`}}},
	}},
	{"Processes", []panel{
		{"CPU", "", "timeseries", "short", 6, []query{{"{{instance}}", `rate(process_cpu_seconds_total{$inst}[$__rate_interval])`}}},
		{"Memory", "", "timeseries", "bytes", 6, []query{{"{{instance}} resident", `process_resident_memory_bytes{$inst}`}, {"{{instance}} heap", `go_memstats_heap_alloc_bytes{$inst}`}}},
		{"Goroutines", "", "timeseries", "short", 6, []query{{"{{instance}}", `go_goroutines{$inst}`}}},
		{"Size of caches", "", "timeseries", "bytes", 6, []query{{"{{cache}} {{control_database}}", `sum by (cache, control_database) (jobagent_cache_bytes{$all})`}}},
	}},
}

// source is the data source that the user chooses.
var source = map[string]any{"type": "prometheus", "uid": "${datasource}"}

// dashboard returns the dashboard.
func dashboard() map[string]any {
	var panels []any
	id, y := 0, 0
	add := func(p map[string]any, x, y, w, h int) {
		id++
		p["id"], p["gridPos"] = id, map[string]int{"x": x, "y": y, "w": w, "h": h}
		panels = append(panels, p)
	}
	for _, s := range sections {
		add(map[string]any{"type": "row", "title": s.title, "collapsed": false, "panels": []any{}}, 0, y, 24, 1)
		y++
		x, height := 0, 0
		for _, p := range s.panels {
			if x+p.width > 24 {
				x, y = 0, y+height
			}
			height = 8
			if p.kind == "stat" {
				height = 4
			}
			add(p.json(), x, y, p.width, height)
			x += p.width
		}
		y += height
	}
	return map[string]any{
		"title": "jobagent", "uid": "jobagent", "tags": []string{"jobagent"}, "schemaVersion": 39, "editable": true,
		"description": "Agents and fronts of jobagent. Shipped with the program: jobagent metrics dashboard.",
		"time":        map[string]string{"from": "now-6h", "to": "now"}, "refresh": "30s", "timezone": "browser", "graphTooltip": 1,
		"templating": map[string]any{"list": []any{
			map[string]any{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
			variable("control_database", "Control database", "label_values(jobagent_terms_active, control_database)"),
			variable("instance", "Instance", "label_values(jobagent_build_info, instance)"),
		}},
		"panels": panels,
	}
}

// variable returns a variable with the values of a query, of which several can be chosen.
func variable(name, label, query string) map[string]any {
	return map[string]any{
		"name": name, "label": label, "type": "query", "datasource": source, "query": query, "definition": query,
		"refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*",
		"current": map[string]any{"text": "All", "value": "$__all"},
	}
}

// json returns a panel without its place.
func (p panel) json() map[string]any {
	var targets []any
	for i, q := range p.queries {
		expr := strings.NewReplacer(
			"$all", `control_database=~"$control_database", instance=~"$instance"`, "$db", `control_database=~"$control_database"`,
			"$inst", `instance=~"$instance"`,
		).Replace(q.expr)
		targets = append(targets, map[string]any{"refId": string(rune('A' + i)), "datasource": source, "expr": expr, "legendFormat": q.legend, "range": p.kind != "stat", "instant": p.kind == "stat"})
	}
	out := map[string]any{
		"type": p.kind, "title": p.title, "datasource": source, "targets": targets,
		"fieldConfig": map[string]any{"defaults": map[string]any{"unit": p.unit, "min": 0, "custom": map[string]any{}}, "overrides": []any{}},
	}
	if p.description != "" {
		out["description"] = p.description
	}
	if p.kind == "stat" {
		out["options"] = map[string]any{
			"colorMode": "none", "textMode": "auto", "reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}},
		}
	} else {
		out["options"] = map[string]any{"legend": map[string]any{"displayMode": "list", "placement": "bottom"}, "tooltip": map[string]any{"mode": "multi", "sort": "desc"}}
	}
	return out
}

// The shipped dashboard is the one of this file.
func TestDashboard(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(dashboard()))
	if *writeDashboard {
		require.NoError(t, os.WriteFile("dashboard.json", b.Bytes(), 0o644))
		return
	}
	require.Equal(t, b.String(), string(shipped.Dashboard), "run: go test ./agent/telemetry/metrics/shipped -run TestDashboard -dashboard.write")
}
