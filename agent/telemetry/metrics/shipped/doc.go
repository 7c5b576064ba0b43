// Package shipped has the files that operators give to Prometheus and Grafana: alert rules with a
// run book, their unit tests, and a dashboard. `jobagent metrics` prints them.
package shipped

import _ "embed"

// Rules are the alert rules for Prometheus. Each has the annotation runbook: what it means, and
// what to do.
//
//go:embed rules.yml
var Rules []byte

// Dashboard is the dashboard for Grafana. Its data source and its control databases are chosen in
// Grafana.
//
//go:embed dashboard.json
var Dashboard []byte
