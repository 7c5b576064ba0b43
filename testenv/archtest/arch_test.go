package archtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tests read the whole tree, and leave much garbage. Collecting it less often saves a tenth of
// their time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

const module = "github.com/jobagent/jobagent"

// leaves are the packages that import the standard library alone, and that each package may import.
var leaves = []string{"jobs/cache", "jobs/jsontree", "jobs/wording", "jobs/suggest", "jobs/isoduration"}

// commandRoom is the folder of the packages of the command jobagent.
const commandRoom = "cmd/jobagent/internal/"

// allowed is the import table of the design, section 3. The row of a package is the longest prefix
// of its path. A row lists the packages outside the standard library that non-test files may
// import. An entry that ends in "/..." is a whole subtree.
var allowed = map[string][]string{
	"sql":                  {},
	"jobs":                 {"jobs/..."},
	"jobs/schedule":        {"jobs/schedule/internal/..."},
	"jobs/schedule/firing": {"jobs/schedule"},
	// The dialects. No dialect imports another one.
	"jobs/schedule/internal":        {"jobs/schedule/internal/civil", "jobs/schedule/internal/engine", "jobs/schedule/internal/syntax", "jobs/schedule/internal/words"},
	"jobs/schedule/internal/civil":  {},
	"jobs/schedule/internal/engine": {"jobs/schedule/internal/civil"},
	"jobs/schedule/internal/words":  {"jobs/schedule/internal/civil", "jobs/schedule/internal/engine"},
	// The languages of other systems, which are translated as texts.
	"jobs/schedule/internal/foreign": {"jobs/schedule/internal/civil", "jobs/schedule/internal/syntax"},
	"jobs/schedule/internal/syntax":  {"jobs/bounded", "jobs/schedule/internal/words", "jobs/internal/...", "jobs/schedule/internal/civil", "jobs/schedule/internal/engine"},
	"jobs/internal":                  {},
	"jobs/internal/yamltext":         {"github.com/goccy/go-yaml/..."},
	"jobs/importer":                  {"jobs/bounded", "jobs/internal/...", "jobs/action", "jobs/model", "jobs/schedule", "jobs/tsql"},
	"jobs/tsql":                      {},
	"jobs/model":                     {"github.com/google/uuid"},
	"jobs/action":                    {"jobs/bounded", "jobs/drift", "jobs/internal/...", "jobs/parameters"},
	"jobs/parameters":                {"jobs/internal/...", "jobs/model"},
	"jobs/drift":                     {"jobs/tsql", "jobs/wording"},
	"jobs/rollout":                   {"jobs", "jobs/internal/..."},
	"jobs/secret":                    {},
	"jobs/jsontree":                  {},
	"jobs/wording":                   {},
	"jobs/suggest":                   {},
	"jobs/isoduration":               {},
	"jobs/textfile":                  {},
	"jobs/bounded":                   {},
	// Jobs as code: the files of jobagent apply.
	"jobs/manifest": {"jobs/...", "targets", "github.com/goccy/go-yaml/..."},
	// Below the root, each kind of target has a package. No kind imports another one.
	"targets":           {"jobs/action", "github.com/google/uuid"},
	"targets/secretref": {"jobs/textfile"},
	// The files that keep tokens, passwords and connections.
	"targets/secretref/privatefile": {"golang.org/x/sys/..."},
	// The guard and the credentials of all outbound actions.
	"targets/outbound":       {"targets", "targets/secretref", "targets/outbound/...", "jobs/action", "github.com/Azure/azure-sdk-for-go/sdk/...", "golang.org/x/oauth2/...", "github.com/golang-jwt/jwt/v5"},
	"targets/http":           {"targets", "targets/outbound", "jobs/action", "github.com/google/uuid"},
	"targets/queue":          {"targets", "targets/outbound", "jobs/action", "github.com/google/uuid", "github.com/Azure/azure-sdk-for-go/sdk/...", "github.com/Azure/go-amqp"},
	"targets/process":        {"targets", "targets/outbound", "jobs/action", "targets/process/...", "github.com/google/uuid", "golang.org/x/sys/..."},
	"targets/mssql":          {"jobs/...", "targets", "targets/secretref", "targets/mssql/...", "github.com/microsoft/go-mssqldb/...", "github.com/golang-sql/sqlexp", "github.com/google/uuid"},
	"targets/mssql/kerberos": {"targets", "github.com/microsoft/go-mssqldb/...", "github.com/jcmturner/gokrb5/v8/...", "github.com/jcmturner/gofork/..."},
	// The server's side of Kerberos: of the REST front and of the embedded server.
	"targets/mssql/kerberos/acceptor": {"github.com/jcmturner/gokrb5/v8/...", "github.com/jcmturner/gofork/..."},
	"targets/inventory":               {"targets"},
	"targets/question":                {"targets", "targets/mssql"},
	"targets/schema":                  {"jobs/drift", "jobs/tsql", "targets", "targets/mssql", "targets/question"},
	"targets/mssql/azure":             {"targets", "targets/mssql", "github.com/microsoft/go-mssqldb/...", "github.com/Azure/azure-sdk-for-go/sdk/..."},
	"targets/mssql/internal":          {},
	// The texts of errors of procedures, for the doors that word them.
	"controldb/message": {},
	// What an error of the control database means.
	"controldb/dberror": {"controldb/message", "targets", "targets/mssql", "github.com/microsoft/go-mssqldb/..."},
	// For whom a call is made.
	"controldb/caller": {"github.com/google/uuid"},
	// The connections and the calls. Only packages below controldb can import it.
	"controldb/internal/call": {"controldb/caller", "controldb/dberror", "jobs/model", "github.com/jmoiron/sqlx/...", "github.com/microsoft/go-mssqldb/...", "github.com/google/uuid"},
	// The rooms of controldb, each with the calls for one kind of caller.
	"controldb/access":       {"controldb", "controldb/dberror", "controldb/internal/call"},
	"controldb/account":      {"controldb", "controldb/dberror", "controldb/installed", "controldb/internal/call", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/auditlog":     {"controldb", "controldb/internal/call", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/catalog":      {"controldb", "controldb/dberror", "controldb/internal/call", "jobs", "jobs/model", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/fleet":        {"controldb", "controldb/internal/call", "jobs/wording", "github.com/google/uuid"},
	"controldb/naming":       {"controldb", "controldb/internal/call", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/settings":     {"controldb", "controldb/internal/call", "jobs/model"},
	"controldb/alerting":     {"controldb", "controldb/internal/call", "controldb/secrets", "jobs/model", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/callbacks":    {"controldb", "controldb/internal/call", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/definition":   {"controldb", "controldb/alerting", "controldb/catalog", "controldb/holds", "controldb/settings", "controldb/targetgroups", "controldb/timetable", "controldb/triggers", "jobs/manifest", "jobs/model", "targets", "github.com/google/uuid"},
	"controldb/deploy":       {"controldb", "controldb/dberror", "controldb/doctor", "controldb/installed", "controldb/internal/call", "jobs/tsql", "sql", "github.com/jmoiron/sqlx/...", "github.com/microsoft/go-mssqldb/...", "golang.org/x/mod/semver"},
	"controldb/doctor":       {"controldb", "controldb/dberror", "controldb/fleet", "controldb/holds", "controldb/identity", "controldb/installed", "controldb/internal/call", "controldb/summary", "controldb/timetable", "jobs/schedule", "jobs/tsql", "sql", "github.com/jmoiron/sqlx/..."},
	"controldb/drifts":       {"controldb", "controldb/dberror", "controldb/internal/call", "targets", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/executions":   {"controldb", "controldb/dberror", "controldb/internal/call", "jobs", "targets", "github.com/google/uuid", "github.com/jmoiron/sqlx/...", "github.com/microsoft/go-mssqldb/..."},
	"controldb/holds":        {"controldb", "controldb/dberror", "controldb/internal/call", "github.com/google/uuid"},
	"controldb/identity":     {"controldb", "controldb/dberror", "controldb/installed", "controldb/internal/call", "github.com/google/uuid"},
	"controldb/installed":    {"controldb", "controldb/dberror", "controldb/internal/call", "sql", "github.com/jmoiron/sqlx/..."},
	"controldb/measure":      {"controldb", "controldb/identity", "controldb/internal/call", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/questions":    {"controldb", "controldb/dberror", "controldb/internal/call", "jobs", "targets", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/rollouts":     {"controldb", "controldb/executions", "controldb/internal/call", "jobs", "targets", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/sap":          {"controldb", "controldb/callbacks", "controldb/internal/call", "jobs/action", "github.com/google/uuid"},
	"controldb/scheduler":    {"controldb", "controldb/dberror", "controldb/executions", "controldb/internal/call", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/secrets":      {"controldb", "controldb/dberror", "controldb/internal/call", "jobs/secret", "github.com/google/uuid", "github.com/jmoiron/sqlx/..."},
	"controldb/summary":      {"controldb", "controldb/account", "controldb/executions", "controldb/internal/call", "controldb/settings", "jobs", "github.com/google/uuid"},
	"controldb/targetgroups": {"controldb", "controldb/dberror", "controldb/internal/call", "jobs", "targets", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	"controldb/timetable":    {"controldb", "controldb/dberror", "controldb/internal/call", "jobs", "jobs/model", "jobs/schedule", "github.com/google/uuid"},
	"controldb/triggers":     {"controldb", "controldb/dberror", "controldb/internal/call", "github.com/google/uuid", "github.com/microsoft/go-mssqldb/..."},
	// Openings, the protocol of agents, and what more than one room of callers uses.
	"controldb": {"controldb/dberror", "controldb/internal/call", "jobs/...", "sql", "targets", "targets/mssql", "github.com/jmoiron/sqlx/...", "github.com/microsoft/go-mssqldb/...", "github.com/google/uuid"},
	// The REST front. A surface is one API; no surface imports another one.
	"agent/rest":                 {"agent/rest/internal/listen", "jobs/...", "controldb", "controldb/caller", "controldb/dberror", "go.uber.org/zap/...", "github.com/google/uuid", "golang.org/x/time/rate"},
	"agent/rest/auth":            {"agent/rest", "agent/rest/internal/body", "agent/rest/auth/...", "agent/rest/internal/misses", "targets/outbound", "targets/secretref", "targets/mssql/kerberos/acceptor", "github.com/google/uuid", "github.com/coreos/go-oidc/v3/oidc", "github.com/go-jose/go-jose/v4", "github.com/golang-jwt/jwt/v5", "go.uber.org/zap/..."},
	"agent/rest/auth/internal":   {"agent/rest/internal/misses"},
	"agent/rest/auth/signing":    {"targets/secretref", "github.com/golang-jwt/jwt/v5"},
	"agent/rest/auth/tokenfile":  {"jobs/bounded", "targets/secretref/privatefile"},
	"agent/accounts":             {"controldb", "controldb/account", "controldb/caller", "controldb/dberror", "controldb/deploy", "controldb/installed", "github.com/google/uuid", "go.uber.org/zap"},
	"agent/rest/callbacks":       {"agent/internal/callback", "agent/rest/internal/listen", "agent/rest/internal/misses", "controldb", "controldb/callbacks", "controldb/dberror", "go.uber.org/zap/..."},
	"agent/rest/elastic":         {"agent/rest", "agent/accounts", "agent/rest/internal/...", "controldb", "controldb/access", "controldb/account", "controldb/catalog", "controldb/dberror", "controldb/doctor", "controldb/drifts", "controldb/executions", "controldb/holds", "controldb/message", "controldb/questions", "controldb/rollouts", "controldb/secrets", "controldb/targetgroups", "controldb/triggers", "jobs/...", "targets", "github.com/google/uuid", "go.uber.org/zap/..."},
	"agent/rest/gateway":         {"controldb/installed", "agent/rest", "agent/rest/internal/...", "github.com/google/uuid"},
	"agent/rest/internal/listen": {"go.uber.org/zap"},
	"agent/rest/internal":        {"agent/rest", "agent/rest/internal/...", "jobs/...", "github.com/google/uuid"},
	"agent/rest/scrape":          {"agent/rest", "agent/rest/internal/listen", "go.uber.org/zap"},
	"agent/rest/sap":             {"golang.org/x/time/rate", "agent/rest", "agent/rest/internal/...", "controldb", "controldb/callbacks", "controldb/caller", "controldb/dberror", "controldb/sap", "controldb/secrets", "jobs/...", "github.com/google/uuid", "go.uber.org/zap/..."},
	"agent/rest/scheduler":       {"agent/rest", "agent/rest/internal/...", "controldb", "controldb/dberror", "controldb/executions", "controldb/scheduler", "controldb/secrets", "jobs/...", "github.com/google/uuid", "software.sslmate.com/src/go-pkcs12"},
	// The dashboard. A set of pages is a package below agent/web; no set imports another one.
	"agent/web":             {"agent/web/...", "agent/rest", "agent/rest/auth/...", "controldb", "controldb/caller", "controldb/dberror", "controldb/identity", "controldb/questions", "controldb/rollouts", "jobs/...", "github.com/google/uuid", "go.uber.org/zap/...", "github.com/coreos/go-oidc/v3/oidc", "golang.org/x/oauth2"},
	"agent/web/page":        {"agent/rest", "agent/web/live", "controldb", "jobs", "github.com/google/uuid", "github.com/aymanbagabas/go-udiff"},
	"agent/web/live":        {"controldb", "controldb/caller", "go.uber.org/zap/..."},
	"agent/web/code":        {"agent/web/page"}, // shared by sets
	"agent/web/session":     {"agent/rest", "agent/rest/auth/...", "github.com/google/uuid", "go.uber.org/zap/...", "github.com/coreos/go-oidc/v3/oidc", "golang.org/x/oauth2"},
	"agent/startcheck":      {"controldb", "controldb/catalog", "jobs/...", "targets/mssql"},
	"agent/web/actions":     {"targets", "agent/rest", "agent/startcheck", "agent/web/page", "agent/web/live", "controldb", "controldb/alerting", "controldb/callbacks", "controldb/catalog", "controldb/dberror", "controldb/drifts", "controldb/executions", "controldb/holds", "controldb/questions", "controldb/rollouts", "controldb/targetgroups", "controldb/timetable", "controldb/triggers", "jobs/...", "github.com/google/uuid"},
	"agent/web/overview":    {"agent/rest", "agent/web/page", "agent/web/live", "controldb", "controldb/account", "controldb/alerting", "controldb/executions", "controldb/fleet", "controldb/summary", "controldb/timetable", "jobs/...", "github.com/google/uuid"},
	"agent/web/operate":     {"agent/rest", "agent/web/page", "agent/web/live", "controldb", "controldb/account", "controldb/alerting", "controldb/auditlog", "controldb/caller", "controldb/dberror", "controldb/fleet", "controldb/holds", "controldb/summary", "controldb/timetable", "jobs/...", "github.com/google/uuid"},
	"agent/web/rollouts":    {"agent/rest", "agent/web/page", "agent/web/live", "controldb", "controldb/executions", "controldb/rollouts", "jobs", "github.com/google/uuid"},
	"agent/web/runs":        {"agent/rest", "agent/web/page", "agent/web/live", "controldb", "controldb/dberror", "controldb/executions", "controldb/triggers", "jobs/...", "github.com/google/uuid"},
	"agent/web/targets":     {"agent/web/code", "targets", "agent/rest", "agent/web/page", "agent/web/live", "controldb", "controldb/callbacks", "controldb/catalog", "controldb/dberror", "controldb/executions", "jobs/...", "github.com/google/uuid"},
	"agent/web/databases":   {"agent/rest", "agent/web/page", "controldb", "controldb/catalog", "controldb/dberror", "controldb/drifts", "controldb/executions", "controldb/holds", "controldb/summary", "controldb/targetgroups", "jobs", "github.com/google/uuid"},
	"agent/web/drift":       {"agent/rest", "agent/web/page", "controldb", "controldb/catalog", "controldb/drifts", "controldb/executions", "jobs/action"},
	"agent/web/forms":       {"agent/rest", "agent/web/page", "controldb", "controldb/auditlog", "controldb/dberror", "controldb/definition", "controldb/message", "jobs/..."},
	"agent/web/definitions": {"agent/rest", "agent/web/page", "agent/web/live", "controldb", "controldb/auditlog", "controldb/catalog", "controldb/dberror", "controldb/definition", "controldb/executions", "controldb/targetgroups", "controldb/timetable", "controldb/triggers", "jobs/...", "targets", "agent/web/code", "github.com/google/uuid", "github.com/aymanbagabas/go-udiff"},
	// What others read: metrics, traces. The agent calls them; they call nothing of the agent.
	"agent/telemetry/metrics": {"controldb", "controldb/dberror", "controldb/measure", "jobs/...", "github.com/prometheus/client_golang/...", "go.uber.org/zap/..."},
	"agent/telemetry/tracing": {"controldb", "controldb/measure", "jobs/...", "targets", "github.com/google/uuid", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes", "go.opentelemetry.io/otel/sdk/...", "go.opentelemetry.io/otel/semconv/...", "go.opentelemetry.io/otel/trace/...", "go.uber.org/zap/..."},
	// The exporter brings gRPC: the agent and the dashboard do without it.
	"agent/telemetry/tracing/export": {"agent/telemetry/tracing", "go.opentelemetry.io/otel/...", "go.uber.org/zap"},
	"agent/alerts":                   {"agent/pacing", "agent/telemetry/metrics", "controldb", "controldb/alerting", "controldb/caller", "jobs/...", "targets/...", "github.com/google/uuid", "go.uber.org/zap/..."},
	"targets/mail":                   {"targets", "targets/outbound", "jobs/action", "github.com/google/uuid", "github.com/wneessen/go-mail/..."},
	"agent":                          {"jobs/...", "targets", "targets/mssql", "targets/question", "targets/http", "targets/queue", "targets/process", "targets/outbound", "targets/mail", "targets/schema", "targets/secretref", "controldb", "controldb/account", "controldb/alerting", "controldb/callbacks", "controldb/dberror", "controldb/doctor", "controldb/drifts", "controldb/installed", "controldb/measure", "controldb/questions", "controldb/secrets", "controldb/targetgroups", "agent/accounts", "agent/alerts", "agent/internal/...", "agent/pacing", "agent/telemetry/metrics", "agent/telemetry/tracing", "go.uber.org/zap/...", "github.com/google/uuid"},
	"agent/internal":                 {},
	// When an agent calls the control database; also for the simulation of fleets.
	"agent/pacing": {},

	// The command. Data flows from cli through the groups of commands to connect, and from there
	// down. No group imports another one.
	"cmd/jobagent":            {commandRoom + "cli", commandRoom + "service"},
	"cmd/jobagent/release":    {commandRoom + "cli", "github.com/spf13/cobra/...", "github.com/goccy/go-yaml", "golang.org/x/crypto/x509roots/fallback/bundle"},
	commandRoom + "service":   {"golang.org/x/sys/...", "github.com/coreos/go-systemd/v22/daemon", "go.uber.org/zap"},
	commandRoom + "buildinfo": {},
	commandRoom + "clitest":   {commandRoom + "embedded", "testenv", "github.com/stretchr/testify/...", "go.uber.org/zap"},
	commandRoom + "terminal":  {"jobs", "charm.land/lipgloss/v2", "github.com/charmbracelet/x/term", "github.com/charmbracelet/x/ansi", "golang.org/x/sys/..."},
	commandRoom + "output":    {commandRoom + "terminal", "jobs/...", "targets/...", "controldb", "controldb/alerting", "controldb/auditlog", "controldb/callbacks", "controldb/catalog", "controldb/deploy", "controldb/doctor", "controldb/drifts", "controldb/executions", "controldb/holds", "controldb/questions", "controldb/rollouts", "controldb/targetgroups", "controldb/triggers", "github.com/google/uuid", "github.com/itchyny/gojq", "github.com/goccy/go-yaml", "github.com/agnivade/levenshtein"},
	// Values of the command line: what each kind of argument and flag accepts, and its completion.
	commandRoom + "values": {commandRoom + "connect", "agent/startcheck", commandRoom + "exit", commandRoom + "lookup", commandRoom + "output", "controldb", "controldb/deploy", "controldb/naming", "controldb/rollouts", "jobs/...", "targets", "github.com/spf13/cobra/...", "github.com/spf13/pflag", "github.com/google/uuid"},
	// Connections by name, as of kubectl.
	commandRoom + "contexts": {commandRoom + "exit", "targets/...", "github.com/zalando/go-keyring", "github.com/goccy/go-yaml"},
	commandRoom + "exit":     {commandRoom + "output", "controldb/dberror", "controldb/deploy", "controldb/doctor"},
	commandRoom + "command":  {"controldb/dberror", "controldb/message", "jobs/action", "jobs/bounded", "jobs/drift", "jobs/manifest", "jobs/model", "jobs/textfile", commandRoom + "exit", commandRoom + "output", commandRoom + "terminal", "github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/text/..."},
	commandRoom + "config":   {"jobs/textfile", commandRoom + "exit", "agent/rest/...", "agent/web/...", "agent/telemetry/...", "targets/..."},
	commandRoom + "lookup":   {commandRoom + "exit", "controldb", "controldb/catalog", "controldb/dberror", "controldb/executions", "controldb/fleet", "controldb/naming", "controldb/targetgroups", "controldb/timetable", "controldb/triggers", "jobs/schedule", "targets/...", "github.com/agnivade/levenshtein", "github.com/google/uuid"},
	commandRoom + "daemon":   {commandRoom + "exit", "agent", "targets/process", "controldb", "go.uber.org/zap/..."},
	commandRoom + "connect": {
		"github.com/google/uuid",
		commandRoom + "buildinfo", commandRoom + "command", commandRoom + "config", commandRoom + "contexts", commandRoom + "exit", commandRoom + "output", commandRoom + "terminal", "agent", "agent/alerts", "agent/rest/...", "agent/telemetry/...", "controldb", "controldb/dberror", "controldb/identity", "controldb/installed", "jobs/...", "targets/...",
		"github.com/microsoft/go-mssqldb/...", "github.com/spf13/cobra/...", "go.uber.org/zap/...",
	},
	commandRoom + "runs": {
		commandRoom + "command", commandRoom + "connect", commandRoom + "exit", commandRoom + "lookup", commandRoom + "output", commandRoom + "terminal", "agent/startcheck", "controldb", "controldb/dberror", "controldb/executions", "controldb/rollouts", "controldb/timetable", "controldb/triggers", "jobs", "jobs/parameters", "targets/...", "github.com/google/uuid", "github.com/spf13/cobra", "charm.land/...",
	},
	// The databases that a command line names for a question.
	commandRoom + "databases": {"controldb/targetgroups", commandRoom + "connect", commandRoom + "exit", commandRoom + "lookup", commandRoom + "output", commandRoom + "terminal", "jobs/wording", "targets", "targets/mssql", "targets/question", "github.com/spf13/pflag"},
	commandRoom + "embedded": {
		commandRoom + "config", commandRoom + "exit", "controldb", "controldb/dberror", "controldb/deploy", "jobs/tsql", "targets/...", "testenv/tsqld/...", "golang.org/x/sys/...",
		"github.com/microsoft/go-mssqldb/...", "github.com/spf13/cobra/...", "go.uber.org/zap/...",
	},
	commandRoom + "front": {
		commandRoom + "buildinfo", commandRoom + "config", commandRoom + "connect", commandRoom + "embedded", commandRoom + "exit", "targets/...", "agent/accounts", "agent/rest/...", "agent/web/...", "agent/telemetry/...", "agent/alerts", "controldb", "controldb/caller", "controldb/dberror", "controldb/installed", "controldb/measure", "controldb/sap", "jobs/...",
		"go.uber.org/zap/...",
	},
	commandRoom + "cli": {
		commandRoom + "...", "sql", "jobs/...", "targets/...", "controldb", "controldb/account", "controldb/alerting", "controldb/auditlog", "controldb/callbacks", "controldb/caller", "controldb/catalog", "controldb/dberror", "controldb/definition", "controldb/deploy", "controldb/doctor", "controldb/drifts", "controldb/executions", "controldb/fleet", "controldb/holds", "controldb/identity", "controldb/installed", "controldb/measure", "controldb/questions", "controldb/rollouts", "controldb/secrets", "controldb/settings", "controldb/summary", "controldb/targetgroups", "controldb/timetable", "controldb/triggers", "agent", "agent/...", "testenv/tsqld/...", "github.com/google/uuid",
		"github.com/microsoft/go-mssqldb/...", "github.com/spf13/cobra/...", "github.com/spf13/pflag", "go.uber.org/zap/...", "charm.land/...", "github.com/agnivade/levenshtein",
	},
	commandRoom + "demo": {
		commandRoom + "...", "jobs/...", "targets/...", "controldb", "controldb/catalog", "controldb/executions", "controldb/rollouts", "controldb/targetgroups", "agent", "github.com/google/uuid", "github.com/spf13/cobra/...",
		"go.uber.org/zap/...",
	},
	commandRoom + "bench": {
		commandRoom + "...", "targets/...", "controldb", "agent", "agent/rest/auth/tokenfile", "testenv/bench", "github.com/spf13/cobra/...",
		"go.uber.org/zap/...",
	},

	"testenv":              {"sql", "jobs/...", "targets/...", "controldb", "controldb/catalog", "controldb/deploy", "controldb/executions", "controldb/measure", "controldb/secrets", "controldb/targetgroups", "agent", "agent/...", "testenv/...", "github.com/stretchr/testify/...", "github.com/chromedp/...", "github.com/getkin/kin-openapi/openapi3", "github.com/prometheus/...", "go.opentelemetry.io/...", "google.golang.org/protobuf/proto", "go.uber.org/goleak", "go.uber.org/zap/...", "github.com/microsoft/go-mssqldb/...", "github.com/google/uuid"},
	"testenv/oracle":       {"jobs"},
	"testenv/differential": {"jobs/schedule"},
	"testenv/tdsclient":    {"testenv/tsqld/tds", "testenv/tsqld/types"},
	"testenv/sqlprinter":   {"testenv/tsqld/syntax", "testenv/tsqld/syntax/printer", "testenv/tsqld/syntax/scanner"},
	"testenv/strict":       {"golang.org/x/text/..."},
	// The benchmarks of `jobagent bench`, which gives them a server, an agent and a front.
	"testenv/bench":             {"jobs/...", "targets/...", "controldb", "controldb/alerting", "controldb/caller", "controldb/catalog", "controldb/deploy", "controldb/executions", "controldb/fleet", "controldb/measure", "controldb/summary", "controldb/targetgroups", "agent", "agent/rest", "agent/rest/auth/tokenfile", "agent/telemetry/...", "github.com/google/uuid", "github.com/spf13/cobra/...", "github.com/microsoft/go-mssqldb/...", "go.uber.org/zap"},
	"testenv/script":            {"targets/mssql", "github.com/golang-sql/sqlexp", "github.com/microsoft/go-mssqldb/...", "github.com/stretchr/testify/..."},
	"testenv/tsqld":             {"testenv/tsqld/...", "targets/mssql/kerberos/acceptor", "golang.org/x/sys/..."},
	"testenv/tsqld/mserr":       {},
	"testenv/tsqld/types":       {"testenv/tsqld/mserr", "testenv/tsqld/types/xmltext", "golang.org/x/text/..."},
	"testenv/tsqld/meter":       {"testenv/tsqld/mserr"},
	"testenv/tsqld/syntax":      {},
	"testenv/tsqld/smp":         {},
	"testenv/tsqld/tds":         {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/types/xmltext", "testenv/tsqld/session", "golang.org/x/text/..."},
	"testenv/tsqld/builtin":     {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/builtin/...", "golang.org/x/text/..."},
	"testenv/tsqld/store":       {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/builtin", "modernc.org/libc", "modernc.org/sqlite/..."},
	"testenv/tsqld/lock":        {"testenv/tsqld/mserr"},
	"testenv/tsqld/catalog":     {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/store"},
	"testenv/tsqld/xquery":      {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types"},
	"testenv/tsqld/failure":     {"testenv/tsqld/mserr", "testenv/tsqld/syntax"},
	"testenv/tsqld/session":     {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/syntax/parser", "testenv/tsqld/builtin", "testenv/tsqld/catalog", "testenv/tsqld/catalog/sysviews", "testenv/tsqld/store", "testenv/tsqld/lock"},
	"testenv/tsqld/module":      {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/syntax", "testenv/tsqld/syntax/parser", "testenv/tsqld/catalog", "testenv/tsqld/failure"},
	"testenv/tsqld/ddl":         {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/syntax/parser", "testenv/tsqld/syntax/printer", "testenv/tsqld/builtin", "testenv/tsqld/catalog", "testenv/tsqld/compile", "testenv/tsqld/compile/keys", "testenv/tsqld/failure", "testenv/tsqld/module", "testenv/tsqld/session"},
	"testenv/tsqld/sysfunc":     {"testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/builtin", "testenv/tsqld/catalog", "testenv/tsqld/catalog/sysviews", "testenv/tsqld/lock", "testenv/tsqld/module", "testenv/tsqld/session"},
	"testenv/tsqld/sysproc":     {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/syntax/parser", "testenv/tsqld/catalog", "testenv/tsqld/lock", "testenv/tsqld/compile", "testenv/tsqld/failure", "testenv/tsqld/session", "testenv/tsqld/ddl", "testenv/tsqld/sysfunc"},
	"testenv/tsqld/cursor":      {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/catalog", "testenv/tsqld/compile/plan", "testenv/tsqld/compile/tree", "testenv/tsqld/failure", "testenv/tsqld/session"},
	"testenv/tsqld/answer":      {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/failure", "testenv/tsqld/session"},
	"testenv/tsqld/unit":        {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/syntax/parser", "testenv/tsqld/catalog", "testenv/tsqld/compile/plan", "testenv/tsqld/module", "testenv/tsqld/session"},
	"testenv/tsqld/change":      {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/catalog", "testenv/tsqld/store", "testenv/tsqld/compile", "testenv/tsqld/compile/eval", "testenv/tsqld/compile/keys", "testenv/tsqld/compile/plan", "testenv/tsqld/compile/tree", "testenv/tsqld/failure", "testenv/tsqld/session", "testenv/tsqld/answer"},
	"testenv/tsqld/trigger":     {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/catalog", "testenv/tsqld/compile/plan", "testenv/tsqld/module", "testenv/tsqld/session", "testenv/tsqld/unit", "testenv/tsqld/change"},
	"testenv/tsqld/exec":        {"testenv/tsqld/unit", "testenv/tsqld/answer", "testenv/tsqld/cursor", "testenv/tsqld/change", "testenv/tsqld/trigger", "testenv/tsqld/sysproc", "testenv/tsqld/sysfunc", "testenv/tsqld/failure", "testenv/tsqld/module", "testenv/tsqld/session", "testenv/tsqld/ddl", "testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/syntax/parser", "testenv/tsqld/builtin", "testenv/tsqld/builtin/format", "testenv/tsqld/catalog", "testenv/tsqld/catalog/sysviews", "testenv/tsqld/store", "testenv/tsqld/compile", "testenv/tsqld/compile/eval", "testenv/tsqld/compile/keys", "testenv/tsqld/compile/plan", "testenv/tsqld/compile/tree"},
	"testenv/tsqld/conformance": {"testenv/tsqld/..."},
	// The rooms of types, of the table of functions and of the catalog. Of the rooms of functions
	// only convert is below another one.
	"testenv/tsqld/types/xmltext":     {"testenv/tsqld/mserr"},
	"testenv/tsqld/builtin/convert":   {"testenv/tsqld/mserr", "testenv/tsqld/types"},
	"testenv/tsqld/builtin/search":    {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types"},
	"testenv/tsqld/builtin/jsontext":  {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/builtin/convert"},
	"testenv/tsqld/builtin/format":    {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "golang.org/x/text/..."},
	"testenv/tsqld/builtin/aggregate": {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/builtin/convert"},
	"testenv/tsqld/builtin/timezone":  {"testenv/tsqld/mserr", "testenv/tsqld/types"},
	"testenv/tsqld/catalog/sysviews":  {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/syntax/parser", "testenv/tsqld/store", "testenv/tsqld/catalog", "golang.org/x/sys/..."},
	// The rooms of the syntax of T-SQL; those of the parser from the top to the bottom.
	"testenv/tsqld/syntax/scanner":         {"testenv/tsqld/mserr", "testenv/tsqld/syntax"},
	"testenv/tsqld/syntax/printer":         {"testenv/tsqld/syntax", "testenv/tsqld/syntax/scanner"},
	"testenv/tsqld/syntax/parser":          {"testenv/tsqld/meter", "testenv/tsqld/mserr", "testenv/tsqld/syntax", "testenv/tsqld/syntax/scanner", "testenv/tsqld/syntax/parser/tokens", "testenv/tsqld/syntax/parser/term", "testenv/tsqld/syntax/parser/query", "testenv/tsqld/syntax/parser/call", "testenv/tsqld/syntax/parser/ddl", "testenv/tsqld/syntax/parser/security", "testenv/tsqld/syntax/parser/dml"},
	"testenv/tsqld/syntax/parser/dml":      {"testenv/tsqld/mserr", "testenv/tsqld/syntax", "testenv/tsqld/syntax/scanner", "testenv/tsqld/syntax/parser/tokens", "testenv/tsqld/syntax/parser/term", "testenv/tsqld/syntax/parser/query", "testenv/tsqld/syntax/parser/call"},
	"testenv/tsqld/syntax/parser/ddl":      {"testenv/tsqld/mserr", "testenv/tsqld/syntax", "testenv/tsqld/syntax/scanner", "testenv/tsqld/syntax/parser/tokens", "testenv/tsqld/syntax/parser/term", "testenv/tsqld/syntax/parser/query"},
	"testenv/tsqld/syntax/parser/security": {"testenv/tsqld/mserr", "testenv/tsqld/syntax", "testenv/tsqld/syntax/scanner", "testenv/tsqld/syntax/parser/tokens", "testenv/tsqld/syntax/parser/term", "testenv/tsqld/syntax/parser/query"},
	"testenv/tsqld/syntax/parser/call":     {"testenv/tsqld/mserr", "testenv/tsqld/syntax", "testenv/tsqld/syntax/scanner", "testenv/tsqld/syntax/parser/tokens", "testenv/tsqld/syntax/parser/term", "testenv/tsqld/syntax/parser/query"},
	"testenv/tsqld/syntax/parser/query":    {"testenv/tsqld/mserr", "testenv/tsqld/syntax", "testenv/tsqld/syntax/scanner", "testenv/tsqld/syntax/parser/tokens", "testenv/tsqld/syntax/parser/term"},
	"testenv/tsqld/syntax/parser/term":     {"testenv/tsqld/mserr", "testenv/tsqld/syntax", "testenv/tsqld/syntax/scanner", "testenv/tsqld/syntax/parser/tokens"},
	"testenv/tsqld/syntax/parser/tokens":   {"testenv/tsqld/meter", "testenv/tsqld/mserr", "testenv/tsqld/syntax", "testenv/tsqld/syntax/scanner"},
	// The compiler and its rooms, from the top to the bottom.
	"testenv/tsqld/compile":             {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/builtin", "testenv/tsqld/catalog", "testenv/tsqld/catalog/sysviews", "testenv/tsqld/store", "testenv/tsqld/compile/keys", "testenv/tsqld/compile/tree", "testenv/tsqld/compile/eval", "testenv/tsqld/compile/plan", "testenv/tsqld/compile/expr", "testenv/tsqld/compile/rewrite", "testenv/tsqld/compile/lower", "testenv/tsqld/compile/bind", "testenv/tsqld/compile/bind/names", "testenv/tsqld/compile/bind/scalar", "testenv/tsqld/compile/bind/from", "testenv/tsqld/compile/cursor", "testenv/tsqld/compile/dml"},
	"testenv/tsqld/compile/dml":         {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/syntax/parser", "testenv/tsqld/catalog", "testenv/tsqld/store", "testenv/tsqld/compile/keys", "testenv/tsqld/compile/tree", "testenv/tsqld/compile/plan", "testenv/tsqld/compile/expr", "testenv/tsqld/compile/rewrite", "testenv/tsqld/compile/lower", "testenv/tsqld/compile/bind", "testenv/tsqld/compile/bind/names", "testenv/tsqld/compile/bind/scalar", "testenv/tsqld/compile/bind/from", "testenv/tsqld/compile/cursor"},
	"testenv/tsqld/compile/cursor":      {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/catalog", "testenv/tsqld/compile/tree", "testenv/tsqld/compile/plan", "testenv/tsqld/compile/expr", "testenv/tsqld/compile/bind", "testenv/tsqld/compile/bind/names"},
	"testenv/tsqld/compile/bind":        {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/compile/keys", "testenv/tsqld/compile/tree", "testenv/tsqld/compile/expr", "testenv/tsqld/compile/rewrite", "testenv/tsqld/compile/bind/names", "testenv/tsqld/compile/bind/scalar", "testenv/tsqld/compile/bind/from"},
	"testenv/tsqld/compile/bind/from":   {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/syntax/parser", "testenv/tsqld/syntax/printer", "testenv/tsqld/builtin", "testenv/tsqld/builtin/jsontext", "testenv/tsqld/catalog", "testenv/tsqld/catalog/sysviews", "testenv/tsqld/store", "testenv/tsqld/xquery", "testenv/tsqld/compile/keys", "testenv/tsqld/compile/tree", "testenv/tsqld/compile/plan", "testenv/tsqld/compile/expr", "testenv/tsqld/compile/rewrite", "testenv/tsqld/compile/bind/names", "testenv/tsqld/compile/bind/scalar"},
	"testenv/tsqld/compile/bind/scalar": {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/syntax/parser", "testenv/tsqld/builtin", "testenv/tsqld/catalog", "testenv/tsqld/xquery", "testenv/tsqld/compile/keys", "testenv/tsqld/compile/tree", "testenv/tsqld/compile/expr", "testenv/tsqld/compile/bind/names"},
	"testenv/tsqld/compile/bind/names":  {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/syntax/parser", "testenv/tsqld/catalog", "testenv/tsqld/xquery", "testenv/tsqld/compile/tree", "testenv/tsqld/compile/plan"},
	"testenv/tsqld/compile/lower":       {"testenv/tsqld/mserr", "testenv/tsqld/types", "testenv/tsqld/store", "testenv/tsqld/compile/keys", "testenv/tsqld/compile/tree", "testenv/tsqld/compile/plan", "testenv/tsqld/compile/rewrite"},
	"testenv/tsqld/compile/rewrite":     {"testenv/tsqld/types", "testenv/tsqld/catalog", "testenv/tsqld/compile/tree", "testenv/tsqld/compile/eval"},
	"testenv/tsqld/compile/expr":        {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/compile/keys", "testenv/tsqld/compile/tree", "testenv/tsqld/compile/eval"},
	"testenv/tsqld/compile/plan":        {"testenv/tsqld/types", "testenv/tsqld/syntax", "testenv/tsqld/catalog", "testenv/tsqld/catalog/sysviews", "testenv/tsqld/compile/tree", "testenv/tsqld/compile/eval"},
	"testenv/tsqld/compile/eval":        {"testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/builtin", "testenv/tsqld/compile/keys", "testenv/tsqld/compile/tree"},
	"testenv/tsqld/compile/tree":        {"testenv/tsqld/types", "testenv/tsqld/catalog", "testenv/tsqld/store", "testenv/tsqld/compile/keys"},
	"testenv/tsqld/compile/keys":        {"testenv/tsqld/mserr", "testenv/tsqld/meter", "testenv/tsqld/types", "testenv/tsqld/builtin", "testenv/tsqld/builtin/...", "testenv/tsqld/store", "testenv/tsqld/xquery"},
}

// listed caches the packages of the module.
var listed struct {
	once     sync.Once
	packages []goPackage
	err      error
}

// goList returns the packages of the module: the package of a path below it, or all in a subtree
// that ends in "/...".
func goList(t *testing.T, path string) []goPackage {
	t.Helper()
	dir := root(t)
	listed.once.Do(func() { listed.packages, listed.err = listAll(context.WithoutCancel(t.Context()), dir) })
	require.NoError(t, listed.err)
	list := slices.DeleteFunc(slices.Clone(listed.packages), func(p goPackage) bool { return !matches(module+"/"+path, p.ImportPath) })
	require.NotEmpty(t, list)
	return list
}

// listAll runs `go list -json ./...` in the module's root and decodes its stream.
func listAll(ctx context.Context, dir string) (all []goPackage, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// goPackage has the fields that goList decodes.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// root returns the module's root directory.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	return filepath.Dir(filepath.Dir(dir))
}

// isStandard reports whether path is in the standard library: its first element has no dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// matches reports whether an entry of the table covers an import.
func matches(entry, path string) bool {
	if tree, ok := strings.CutSuffix(entry, "/..."); ok {
		return path == tree || strings.HasPrefix(path, tree+"/")
	}
	return path == entry
}

// A group of commands, a package below cli, imports no other group. Shared code is in the packages
// below the groups.
func TestCommandGroupsImportNoOther(t *testing.T) {
	t.Parallel()
	groups := module + "/" + commandRoom + "cli/"
	for _, p := range goList(t, commandRoom+"cli/...") {
		for _, imp := range p.Imports {
			if strings.HasPrefix(p.ImportPath, groups) && strings.HasPrefix(imp, strings.TrimSuffix(groups, "/")) {
				t.Errorf("%s may not import %s", p.ImportPath, imp)
			}
		}
	}
}

func TestImportsFollowTheTable(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "...") {
		pkg := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		row, found := "", false
		for prefix := range allowed {
			if (pkg == prefix || strings.HasPrefix(pkg, prefix+"/")) && len(prefix) >= len(row) {
				row, found = prefix, true
			}
		}
		if !found {
			t.Errorf("package %s has no row in the import table", pkg)
			continue
		}
	imports:
		for _, imp := range p.Imports {
			if isStandard(imp) {
				continue
			}
			path := strings.TrimPrefix(strings.TrimPrefix(imp, module), "/")
			for _, entry := range slices.Concat(leaves, allowed[row]) {
				if matches(entry, path) {
					continue imports
				}
			}
			t.Errorf("%s may not import %s", pkg, path)
		}
	}
}

// The binary links the embedded server, but no test library.
func TestBinaryLinksNoTestLibrary(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "cmd/jobagent") {
		for _, dep := range p.Deps {
			for _, banned := range []string{"github.com/stretchr/testify", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/rogpeppe/go-internal"} {
				if strings.HasPrefix(dep, banned) {
					t.Errorf("cmd/jobagent links %s", dep)
				}
			}
		}
	}
}

// Tests without an agent link none, with the clients of all its actions.
func TestTestenvLinksNoAgent(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "testenv") {
		require.NotContains(t, p.Deps, module+"/agent")
	}
}

var (
	// bareMark is written so that it does not match this line.
	bareMark = regexp.MustCompile(`\b(TO[D]O|FIX[M]E|X{3})\b`)
	dml      = regexp.MustCompile(`(?i)["` + "`" + `]\s*(INSERT\s+INTO|UPDATE\s+\[?jobs|DELETE\s+FROM|MERGE\s+INTO)\b`)
)

// goFiles calls fn for every Go file below the named folders.
func goFiles(t *testing.T, fn func(path, text string), folders ...string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root(t), folder), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root(t), path)
			fn(rel, string(text))
			return err
		})
		require.NoError(t, err)
	}
}

func TestNoBareMarks(t *testing.T) {
	t.Parallel()
	goFiles(t, func(path, text string) {
		if m := bareMark.FindString(text); m != "" {
			t.Errorf("%s holds a bare %s: do it, or say why not in a DESIGN.md", path, m)
		}
	}, "agent", "cmd", "controldb", "jobs", "sql", "targets", "testenv")
}

// Job logic lives in T-SQL: the product's Go changes no data of the control database by SQL of its
// own.
func TestProductHasNoDML(t *testing.T) {
	t.Parallel()
	goFiles(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, filepath.Join("targets", "mssql", "output")) {
			return // the output table belongs to the user; targets write it
		}
		if m := dml.FindString(text); m != "" {
			t.Errorf("%s changes data by a string of SQL: %q", path, m)
		}
	}, "agent", "controldb", "jobs", "targets")
}

var transport = regexp.MustCompile(`http\.(Transport\{|DefaultClient|DefaultTransport|Get\(|Post\(|PostForm\(|Head\()`)

// Package outbound makes the transports of all HTTP requests, with their limits.
func TestOneTransport(t *testing.T) {
	t.Parallel()
	goFiles(t, func(path, text string) {
		if m := transport.FindString(text); m != "" && !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, filepath.Join("targets", "outbound")) {
			t.Errorf("%s has %s: use targets/outbound", path, m)
		}
	}, "agent", "cmd", "controldb", "jobs", "targets")
}

// The top level has the prescribed folders and files, and no others.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	prescribed := []string{"LICENSE", "README.md", "agent", "cmd", "controldb", "go.mod", "go.sum", "jobs", "sql", "targets", "testenv"}
	entries, err := os.ReadDir(root(t))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	require.Subset(t, prescribed, names, "beside the prescribed folders only LICENSE and dot files")
}
