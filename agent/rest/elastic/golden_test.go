package elastic_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/front"
)

var update = flag.Bool("golden.update", false, "write the golden exchanges")

// exchange is a request of a client. Its path is below the agent.
type exchange struct {
	note, method, path, body string
	// awaits polls the last Location until the run has ended.
	awaits bool
}

// recording does exchanges and writes down what a client sees of them.
type recording struct {
	f       *front.Front
	query   string
	headers []string
	text    bytes.Buffer
	last    string // the last Location, below the front
}

// guids and times are replaced in what is written down.
var (
	guids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)
)

func (r *recording) do(t *testing.T, e exchange) {
	t.Helper()
	path := front.A + e.path + r.query
	if e.awaits {
		path = r.last
		e.method = "GET"
		id := path[strings.LastIndex(path, "/")+1 : strings.Index(path, "?")]
		wait(t, r.f, strings.Split(strings.TrimPrefix(path, front.A), "/")[2], id)
	}
	var body any
	if e.body != "" {
		body = strings.ReplaceAll(strings.ReplaceAll(e.body, "AGENT", front.A), "SRV", r.f.ServerName)
	}
	a := r.f.Do(t, e.method, path, body, r.headers...)
	fmt.Fprintf(&r.text, "# %s\n%s %s\n", e.note, e.method, strings.TrimPrefix(path, front.A))
	if body != nil {
		fmt.Fprintf(&r.text, "%s\n", body)
	}
	fmt.Fprintf(&r.text, "\n%d\n", a.Status)
	for _, name := range []string{"Content-Type", "Location", "Azure-AsyncOperation", "Retry-After", "X-Ms-Error-Code"} {
		if value := a.Header.Get(name); value != "" {
			fmt.Fprintf(&r.text, "%s: %s\n", name, value)
		}
	}
	if location := a.Header.Get("Location"); location != "" {
		r.last = strings.TrimPrefix(location, r.f.URL)
	}
	require.NotEmpty(t, a.Header.Get("X-Ms-Request-Id"))
	if a.Body != "" {
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, []byte(a.Body), "", "  "))
		fmt.Fprintf(&r.text, "%s\n", indented.String())
	}
	r.text.WriteString("\n")
}

// golden does exchanges and compares them with testdata/NAME.
func golden(t *testing.T, name, version string, headers []string, exchanges []exchange) {
	t.Helper()
	r := &recording{f: front.Shared(t), query: "?api-version=" + version, headers: headers}
	for _, e := range exchanges {
		r.do(t, e)
	}
	text := strings.NewReplacer(r.f.URL, "https://front", front.Subscription, "SUBSCRIPTION", r.f.ServerName, "SRV").Replace(r.text.String())
	for i, database := range r.f.Targets {
		text = strings.ReplaceAll(text, `"`+database+`"`, fmt.Sprintf(`"t%d"`, i+1))
		text = strings.ReplaceAll(text, `'`+database+`'`, fmt.Sprintf(`'t%d'`, i+1))
	}
	text = times.ReplaceAllString(guids.ReplaceAllString(text, "GUID"), "TIME")
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

// TestPowerShell does what the cmdlets of Az.Sql do: before each create they ask for the
// resource, which must be 404, and each call has an id of its own. -Wait polls the Location.
func TestPowerShell(t *testing.T) {
	golden(t, "powershell.txt", "2017-03-01-preview", []string{
		"x-ms-client-request-id: " + uuid.NewString(), "Accept-Language: en-US", "Content-Type: application/json; charset=utf-8",
		"User-Agent: AzurePowershell/v0.0.0 PSVersion/v7.0.0",
	}, []exchange{
		{"Get-AzSqlElasticJobAgent", "GET", "", "", false},
		{"New-AzSqlElasticJobCredential", "GET", "/credentials/ps-cred", "", false},
		{"creates it", "PUT", "/credentials/ps-cred", `{"properties":{"username":"cloudSA","password":"golden-password-1"}}`, false},
		{"New-AzSqlElasticJobTargetGroup", "GET", "/targetGroups/ps-tg", "", false},
		{"creates it", "PUT", "/targetGroups/ps-tg", `{"properties":{"members":[]}}`, false},
		{"Add-AzSqlElasticJobTarget", "PUT", "/targetGroups/ps-tg", `{"properties":{"members":[{"membershipType":"Include","type":"SqlServer","serverName":"s1","refreshCredential":"AGENT/credentials/ps-cred"}]}}`, false},
		{"New-AzSqlElasticJob", "GET", "/jobs/ps-job", "", false},
		{"creates it", "PUT", "/jobs/ps-job", `{"properties":{"schedule":{"startTime":"2020-11-11T19:30:01.1234567Z","enabled":false}}}`, false},
		{"New-AzSqlElasticJob -RunOnce", "PUT", "/jobs/ps-once", `{"properties":{"description":"once","schedule":{"type":"Once","startTime":"2099-01-01T00:00:00Z"}}}`, false},
		{"New-AzSqlElasticJob -IntervalType Minute -IntervalCount 1", "PUT", "/jobs/ps-often", `{"properties":{"schedule":{"type":"Recurring","interval":"PT1M","startTime":"2099-01-01T00:00:00Z","endTime":"2100-01-01T00:00:00Z","enabled":true}}}`, false},
		{"Add-AzSqlElasticJobStep", "GET", "/jobs/ps-job/steps/step1", "", false},
		{"creates it", "PUT", "/jobs/ps-job/steps/step1", `{"properties":{"targetGroup":"AGENT/targetGroups/g1","credential":"AGENT/credentials/ps-cred","action":{"value":"SELECT 1"},"executionOptions":{}}}`, false},
		{"Set-AzSqlElasticJobStep without credential", "PUT", "/jobs/ps-job/steps/step1", `{"properties":{"stepId":1,"targetGroup":"AGENT/targetGroups/g1","action":{"type":"TSql","source":"Inline","value":"SELECT 1"},"executionOptions":{"timeoutSeconds":43200,"retryAttempts":0,"initialRetryIntervalSeconds":1,"maximumRetryIntervalSeconds":120,"retryIntervalBackoffMultiplier":2.0}}}`, false},
		{"Start-AzSqlElasticJob", "POST", "/jobs/ps-job/start", "", false},
		{"-Wait", "", "", "", true},
		{"Get-AzSqlElasticJobExecution", "GET", "/jobs/ps-job/executions", "", false},
		{"Remove-AzSqlElasticJobCredential", "DELETE", "/credentials/ps-cred", "", false},
		{"Set-AzSqlElasticJobTargetGroup", "PUT", "/targetGroups/ps-tg", `{"properties":{"members":[]}}`, false},
		{"Remove-AzSqlElasticJobCredential", "DELETE", "/credentials/ps-cred", "", false},
		{"Remove-AzSqlElasticJob", "DELETE", "/jobs/ps-job", "", false},
		{"and the others", "DELETE", "/jobs/ps-once", "", false},
		{"and the others", "DELETE", "/jobs/ps-often", "", false},
		{"Remove-AzSqlElasticJobTargetGroup", "DELETE", "/targetGroups/ps-tg", "", false},
		{"Get-AzSqlElasticJob", "GET", "/jobs/ps-job", "", false},
	})
}

// TestTerraform does what the provider azurerm does with jobs, schedules and steps: a
// schedule is removed by a job without one, an output by a step without one.
func TestTerraform(t *testing.T) {
	const step = `"targetGroup":"AGENT/targetGroups/g1","action":{"source":"Inline","type":"TSql","value":"SELECT 1"},` +
		`"executionOptions":{"initialRetryIntervalSeconds":1,"maximumRetryIntervalSeconds":120,"retryAttempts":0,"retryIntervalBackoffMultiplier":2.5,"timeoutSeconds":43200},"stepId":1`
	golden(t, "terraform.txt", "2023-08-01-preview", []string{"User-Agent: HashiCorp/go-azure-sdk", "Accept: application/json; charset=utf-8; IEEE754Compatible=false"}, []exchange{
		{"mssql_job: check for an existing one", "GET", "/jobs/tf-job", "", false},
		{"create", "PUT", "/jobs/tf-job", `{"name":"tf-job","properties":{"description":"Managed by Terraform"}}`, false},
		{"read", "GET", "/jobs/tf-job", "", false},
		{"mssql_job_schedule: create", "PUT", "/jobs/tf-job", `{"id":"AGENT/jobs/tf-job","name":"tf-job","properties":{"description":"Managed by Terraform","schedule":{"enabled":false,"endTime":"2099-12-31T23:59:59Z","interval":"P5D","startTime":"2099-01-01T00:00:00Z","type":"Recurring"},"version":0},"type":"Microsoft.Sql/servers/jobAgents/jobs"}`, false},
		{"mssql_job_step: create", "PUT", "/jobs/tf-job/steps/tf-step", `{"properties":{` + step + `,"output":{"credential":"","databaseName":"db","schemaName":"dbo","serverName":"srv","tableName":"t","type":"SqlDatabase"}}}`, false},
		{"update: remove the output", "PUT", "/jobs/tf-job/steps/tf-step", `{"id":"AGENT/jobs/tf-job/steps/tf-step","name":"tf-step","properties":{` + step + `},"type":"Microsoft.Sql/servers/jobAgents/jobs/steps"}`, false},
		{"the same again", "PUT", "/jobs/tf-job/steps/tf-step", `{"properties":{` + step + `}}`, false},
		{"read", "GET", "/jobs/tf-job/steps/tf-step", "", false},
		{"mssql_execute_job: start", "POST", "/jobs/tf-job/start", "", false},
		{"until it has ended", "", "", "", true},
		{"mssql_job_schedule: delete", "PUT", "/jobs/tf-job", `{"properties":{"description":"Managed by Terraform"}}`, false},
		{"mssql_job_step: delete", "DELETE", "/jobs/tf-job/steps/tf-step", "", false},
		{"mssql_job: delete", "DELETE", "/jobs/tf-job", "", false},
		{"mssql_job_target_group", "PUT", "/targetGroups/tf-tg", `{"properties":{"members":[{"databaseName":"d","membershipType":"Include","serverName":"SRV","type":"SqlDatabase"},{"elasticPoolName":"p","membershipType":"Exclude","serverName":"SRV","type":"SqlElasticPool"}]}}`, false},
		{"delete", "DELETE", "/targetGroups/tf-tg", "", false},
	})
}
