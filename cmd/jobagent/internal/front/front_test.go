package front_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/sql/armsql/v2"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sync/errgroup"

	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/front"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/deploy"
)

const (
	subscription = "00000000-1111-2222-3333-444444444444"
	servers      = "/subscriptions/" + subscription + "/resourceGroups/rg1/providers/Microsoft.Sql/servers/server1"
	agentPath    = servers + "/jobAgents/agent1"
	version      = "?api-version=2020-11-01-preview"
)

// served is a front with everything that the program gives it.
type served struct {
	url, token string
	http       *http.Client
	log        *observer.ObservedLogs
	server     *embedded.Server
	dir        string
}

// serve starts an embedded server and a front.
func serve(t *testing.T, change func(*config.REST)) *served {
	t.Helper()
	s := &served{dir: t.TempDir()}
	s.startServer(t, "127.0.0.1:0")
	s.serveAs(t, s.server.DSN(embedded.ControlDatabase), change)
	return s
}

// serveAs starts a front whose login is that of a connection string.
func (s *served) serveAs(t *testing.T, dsn string, change func(*config.REST)) {
	t.Helper()
	certificate, key := filepath.Join(s.dir, "c.pem"), filepath.Join(s.dir, "k.pem")
	pair, err := embedded.LoadOrCreateCertificate(certificate, key, "127.0.0.1:0")
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	s.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: 100}}
	t.Cleanup(s.http.CloseIdleConnections)

	stored, token := tokenfile.New()
	stored.Role, stored.Scope = "admin", "/"
	s.token = token
	core, logs := observer.New(zap.DebugLevel)
	s.log = logs
	agent := "agent1"
	o := front.Options{
		Databases: []config.ControlDatabase{{
			Name: "jobdb1", Subscription: subscription, ResourceGroup: "rg1", Server: "server1", Location: "onprem", ImplicitAgent: &agent,
		}},
		Open: func(config.ControlDatabase) (*controldb.Store, error) {
			return controldb.New(controldb.Config{DSN: dsn})
		},
		Metrics: metrics.New(metrics.Build{Version: "test"}),
		Log:     zap.New(core),
	}
	o.Config.Listen, o.Config.TLS.Certificate, o.Config.TLS.Key = "127.0.0.1:0", certificate, key
	o.Config.Tokens = []tokenfile.Token{stored}
	if change != nil {
		change(&o.Config)
	}
	f, err := front.Open(t.Context(), o)
	require.NoError(t, err)
	stop, _ := f.Start(context.WithoutCancel(t.Context()))
	t.Cleanup(func() { require.NoError(t, stop()) })
	s.url = f.PublicURL()
}

// password is that of sa, which only the test's process uses.
const password = "Only-4-tests"

// startServer starts the embedded server.
func (s *served) startServer(t *testing.T, listen string) {
	t.Helper()
	var err error
	s.server, err = embedded.Start(t.Context(), filepath.Join(s.dir, "databases"), listen, password, "disable", zap.NewNop(), clitest.Installed(t))
	require.NoError(t, err)
	started := s.server
	t.Cleanup(func() {
		if s.server == started {
			require.NoError(t, started.Close())
		}
	})
}

// do sends a request, and returns the answer and its body.
func (s *served) do(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	response, err := s.http.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(text)
}

// codeOf returns error.code of a body.
func codeOf(t *testing.T, text string) string {
	t.Helper()
	var body struct{ Error struct{ Code string } }
	require.NoError(t, json.Unmarshal([]byte(text), &body), text)
	return body.Error.Code
}

// The program's front has the surfaces and authentication of the product.
func TestFront(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	t.Run("2 no version", func(t *testing.T) {
		r, text := s.do(t, "GET", agentPath, "")
		require.Equal(t, 400, r.StatusCode)
		require.Equal(t, "MissingApiVersionParameter", codeOf(t, text))
		require.NotEmpty(t, r.Header.Get("X-Ms-Request-Id"))
		require.NotEmpty(t, r.Header.Get("X-Ms-Correlation-Request-Id"))
	})
	t.Run("4 wrong token", func(t *testing.T) {
		r, text := s.do(t, "GET", agentPath+version, "", "Authorization: Bearer wrong")
		require.Equal(t, 401, r.StatusCode)
		require.Equal(t, "AuthenticationFailed", codeOf(t, text))
		require.True(t, strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Bearer"))
	})
	t.Run("6 letters of any case", func(t *testing.T) {
		r, text := s.do(t, "GET", "/SUBSCRIPTIONS/"+subscription+"/resourcegroups/RG1/providers/microsoft.sql/servers/SERVER1/jobagents/AGENT1"+version, "")
		require.Equal(t, 200, r.StatusCode, text)
		var agent struct {
			ID  string
			SKU struct {
				Name     string
				Capacity int
			}
			Properties struct{ State string }
		}
		require.NoError(t, json.Unmarshal([]byte(text), &agent))
		require.Equal(t, agentPath, agent.ID)
		require.Equal(t, "Ready", agent.Properties.State)
		require.Equal(t, "JA100", agent.SKU.Name)
		require.Equal(t, 100, agent.SKU.Capacity)
	})
	t.Run("wrong input", func(t *testing.T) {
		job := agentPath + "/jobs/wrong" + version
		r, text := s.do(t, "PUT", job, `{"properties":{"description":1,"description":2,"schedule":[]}} x`)
		require.Equal(t, 400, r.StatusCode, text)
		require.Equal(t, "InvalidResourceRequestBody", codeOf(t, text))
		r, text = s.do(t, "PUT", job, `{"properties":{"description":"`+strings.Repeat("x", 5<<20)+`"}}`)
		require.Equal(t, 413, r.StatusCode)
		require.Equal(t, "RequestEntityTooLarge", codeOf(t, text))
		r, _ = s.do(t, "GET", job, "")
		require.Equal(t, 404, r.StatusCode, "nothing was made")
	})
	t.Run("116 OpenAPI", s.testOpenAPI)
	for _, entry := range s.log.All() {
		line := fmt.Sprint(entry.Message, entry.ContextMap())
		require.NotContains(t, line, s.token)
		require.NotContains(t, line, "jobs/wrong")
	}
}

// testOpenAPI is case 116.
func (s *served) testOpenAPI(t *testing.T) {
	documents := map[string]*openapi3.T{}
	for _, name := range []string{"sql", "scheduler", "sap"} {
		r, text := s.do(t, "GET", "/openapi/"+name+".json", "", "Authorization: ")
		require.Equal(t, 200, r.StatusCode)
		document, err := openapi3.NewLoader().LoadFromData([]byte(text))
		require.NoError(t, err)
		require.NoError(t, document.Validate(t.Context()))
		documents[name] = document
	}
	const base = "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Sql/servers/{}/jobAgents"
	// The paths of the operations, by their numbers.
	wanted := map[string]string{
		"": "GET", "/{}": "GET PUT PATCH DELETE", "/{}/credentials": "GET", "/{}/credentials/{}": "GET PUT DELETE",
		"/{}/targetGroups": "GET", "/{}/targetGroups/{}": "GET PUT DELETE", "/{}/jobs": "GET", "/{}/jobs/{}": "GET PUT DELETE",
		"/{}/jobs/{}/versions": "GET", "/{}/jobs/{}/versions/{}": "GET", "/{}/jobs/{}/steps": "GET", "/{}/jobs/{}/steps/{}": "GET PUT DELETE",
		"/{}/jobs/{}/versions/{}/steps": "GET", "/{}/jobs/{}/versions/{}/steps/{}": "GET", "/{}/executions": "GET",
		"/{}/jobs/{}/executions": "GET", "/{}/jobs/{}/executions/{}": "GET PUT", "/{}/jobs/{}/start": "POST",
		"/{}/jobs/{}/executions/{}/cancel": "POST", "/{}/jobs/{}/executions/{}/steps": "GET", "/{}/jobs/{}/executions/{}/steps/{}": "GET",
		"/{}/jobs/{}/executions/{}/targets": "GET", "/{}/jobs/{}/executions/{}/steps/{}/targets": "GET",
		"/{}/jobs/{}/executions/{}/steps/{}/targets/{}": "GET", "/{}/privateEndpoints": "GET", "/{}/privateEndpoints/{}": "GET PUT DELETE",
	}
	found := map[string]*openapi3.PathItem{}
	for path, item := range documents["sql"].Paths.Map() {
		var b strings.Builder
		for segment := range strings.SplitSeq(path, "/") {
			if strings.HasPrefix(segment, "{") {
				segment = "{}"
			}
			b.WriteString("/" + segment)
		}
		found[strings.TrimPrefix(b.String(), "/")] = item
	}
	for path, methods := range wanted {
		require.NotNil(t, found[base+path], "%s is missing", path)
		for method := range strings.FieldsSeq(methods) {
			require.NotNil(t, found[base+path].GetOperation(method), "%s %s is missing", method, path)
		}
	}
	// The bodies of cases 28 to 44, and bodies that are wrong.
	group := agentPath + "/targetGroups/g1"
	for _, c := range []struct {
		path, body string
		valid      bool
	}{
		{"/{}/jobs/{}", `{"properties":{}}`, true},
		{"/{}/jobs/{}", `{"properties":{"description":"d","schedule":{"type":"Recurring","interval":"PT15M","enabled":true}}}`, true},
		{"/{}/jobs/{}", `{"properties":{"schedule":{"startTime":"2020-01-01T00:00:00Z","enabled":false}}}`, true},
		{"/{}/jobs/{}", `{"properties":{"description":5}}`, false},
		{"/{}/jobs/{}/steps/{}", `{"properties":{"targetGroup":"` + group + `","action":{"value":"SELECT 1"},"executionOptions":{}}}`, true},
		{"/{}/jobs/{}/steps/{}", `{"properties":{"targetGroup":"` + group + `","action":{"value":"SELECT 1"},"output":{"serverName":"s","databaseName":"d","tableName":"t","credential":""}}}`, true},
		{"/{}/jobs/{}/steps/{}", `{"properties":{"action":"SELECT 1"}}`, false},
	} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(c.body), &value))
		err := found[base+c.path].Put.RequestBody.Value.Content["application/json"].Schema.Value.VisitJSON(value)
		require.Equal(t, c.valid, err == nil, "%s: %v", c.body, err)
	}
}

// staticToken is a credential of azcore.
type staticToken string

func (s staticToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(s), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// throttled counts the answers 429.
type throttled struct {
	next  *http.Client
	count atomic.Int64
	after atomic.Int64 // answers 429 with Retry-After
}

// Do implements policy.Transporter.
func (c *throttled) Do(r *http.Request) (*http.Response, error) {
	response, err := c.next.Do(r)
	if err == nil && response.StatusCode == http.StatusTooManyRequests {
		c.count.Add(1)
		text, readErr := io.ReadAll(response.Body)
		response.Body = io.NopCloser(bytes.NewReader(text))
		if readErr == nil && response.Header.Get("Retry-After") != "" && strings.Contains(string(text), "SubscriptionTooManyRequests") {
			c.after.Add(1)
		}
	}
	return response, err
}

// 50 writes at once by one principal exceed the 44 that are left of the burst. azcore repeats those
// that were refused until all are done, and none is done twice.
func TestCase110Limits(t *testing.T) {
	t.Parallel()
	s := serve(t, func(c *config.REST) { c.Limits.Writes = config.RateLimit{PerHour: 3600, Burst: 54} })
	transport := &throttled{next: s.http}
	client, err := armsql.NewJobsClient(subscription, staticToken(s.token), &arm.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: transport,
		Retry:     policy.RetryOptions{MaxRetries: 20},
		Cloud: cloud.Configuration{
			ActiveDirectoryAuthorityHost: s.url, Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
				cloud.ResourceManager: {Endpoint: s.url, Audience: s.url},
			},
		},
	}})
	require.NoError(t, err)
	// The bucket has 44 left, and gets one a second: six writes have to wait, and some are refused
	// even if all writes take five seconds.
	for range 10 {
		r, text := s.do(t, "POST", "/subscriptions/"+subscription+"/providers/Microsoft.Sql/register?api-version=2021-04-01", "")
		require.Equal(t, 200, r.StatusCode, text)
	}
	var g errgroup.Group
	const writes = 50
	for i := range writes {
		g.Go(func() error {
			_, err := client.CreateOrUpdate(t.Context(), "rg1", "server1", "agent1", fmt.Sprintf("limit-%d", i), armsql.Job{Properties: &armsql.JobProperties{}}, nil)
			return err
		})
	}
	require.NoError(t, g.Wait())
	require.Positive(t, transport.count.Load(), "some were refused")
	require.Equal(t, transport.count.Load(), transport.after.Load(), "with code and Retry-After")
	db, err := s.server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	defer db.Close()
	var jobs, changes int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM jobs.jobs WHERE job_name LIKE N'limit-%';").Scan(&jobs))
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM jobs.audit_log WHERE object_name LIKE N'limit-%';").Scan(&changes))
	require.Equal(t, []int{writes, writes}, []int{jobs, changes}, "each was done once")
}

// With the control database stopped, requests get 503 with Retry-After, and nothing is done later.
func TestCase114ControlDatabaseAway(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	job := agentPath + "/jobs/j1"
	r, text := s.do(t, "PUT", job+version, `{"properties":{}}`)
	require.Equal(t, 201, r.StatusCode, text)
	address := s.server.Address
	require.NoError(t, s.server.Close())
	s.server = nil
	for _, c := range []struct{ method, path, body string }{
		{"GET", job, ""}, {"POST", job + "/start", ""}, {"PUT", job, `{"properties":{"description":"later"}}`},
	} {
		r, text := s.do(t, c.method, c.path+version, c.body)
		require.Equal(t, 503, r.StatusCode, "%s %s: %s", c.method, c.path, text)
		require.Equal(t, "ServiceUnavailable", codeOf(t, text))
		require.NotEmpty(t, r.Header.Get("Retry-After"))
	}
	require.Eventually(t, func() bool {
		r, _ := s.do(t, "GET", "/readyz", "")
		return r.StatusCode == 503
	}, 10*time.Second, 100*time.Millisecond)
	r, _ = s.do(t, "GET", "/healthz", "")
	require.Equal(t, 200, r.StatusCode, "the process itself is well")

	s.startServer(t, address)
	require.Eventually(t, func() bool {
		r, _ := s.do(t, "GET", job+version, "")
		return r.StatusCode == 200
	}, 10*time.Second, 50*time.Millisecond, "the front finds the database again")
	_, text = s.do(t, "GET", job+version, "")
	require.NotContains(t, text, "later")
	r, text = s.do(t, "GET", job+"/executions"+version, "")
	require.Equal(t, 200, r.StatusCode)
	require.JSONEq(t, `{"value":[]}`, text, "no run exists")
}

// A front that meets a schema without what it calls answers 503 until the schema has been migrated,
// whether a procedure is missing, or a parameter.
func TestSchemaGetsOlder(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	control, err := s.server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	defer control.Close()
	exec := func(text string) {
		t.Helper()
		_, err := control.ExecContext(t.Context(), text)
		require.NoError(t, err)
	}
	const members = `{"properties":{"members":[]}}`
	r, text := s.do(t, "PUT", agentPath+"/targetGroups/g"+version, members)
	require.Equal(t, 201, r.StatusCode, text)
	for _, older := range []string{
		"DROP PROCEDURE jobs.sp_add_target_group;",
		"CREATE PROCEDURE jobs.sp_add_target_group @name_of_old NVARCHAR(128) = NULL AS RETURN 0;",
	} {
		exec(older)
		if strings.HasPrefix(older, "CREATE") {
			exec("GRANT EXECUTE ON OBJECT::jobs.sp_add_target_group TO jobs_author;")
		}
		r, text = s.do(t, "PUT", agentPath+"/targetGroups/h"+version, members)
		require.Equal(t, 503, r.StatusCode, "%s: %s", older, text)
		require.NotEmpty(t, r.Header.Get("Retry-After"))
		require.Contains(t, text, "no schema that this front can use")
	}
	exec("DELETE c FROM jobs_internal.code_objects AS c WHERE c.name = N'jobs.sp_add_target_group';")
	r, text = s.do(t, "GET", "/readyz", "")
	require.Equal(t, 503, r.StatusCode, text)
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	require.NoError(t, deploy.On(s.server.Store).Migrate(t.Context()))
	r, text = s.do(t, "PUT", agentPath+"/targetGroups/h"+version, members)
	require.Equal(t, 201, r.StatusCode, text)
}

// Reports on actions are received by the front, and logged without the token.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	const token = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	r, text := s.do(t, "POST", "/callbacks/"+token, `{"success":true}`)
	require.Equal(t, 404, r.StatusCode)
	require.Contains(t, text, "No callback has this token.")
	require.Equal(t, 1, s.log.FilterField(zap.String("route", "/callbacks/")).Len())
	for _, entry := range s.log.All() {
		require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), token)
	}
}

// A login with the role jobs_front, and no other right in the control database, is enough.
func TestFrontWithLeastRights(t *testing.T) {
	t.Parallel()
	s := &served{dir: t.TempDir()}
	s.startServer(t, "127.0.0.1:0")
	db, err := s.server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "CREATE LOGIN rest_front WITH PASSWORD = '"+password+"';")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE USER rest_front FOR LOGIN rest_front; ALTER ROLE jobs_front ADD MEMBER rest_front;")
	require.NoError(t, err)
	dsn, err := url.Parse(s.server.DSN(embedded.ControlDatabase))
	require.NoError(t, err)
	dsn.User = url.UserPassword("rest_front", password)
	s.serveAs(t, dsn.String(), nil)
	collections := "/subscriptions/" + subscription + "/resourceGroups/rg1/providers/Microsoft.Scheduler/jobCollections"
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/readyz", "", 200},
		{"GET", agentPath + version, "", 200},
		{"PUT", agentPath + version, `{"location":"onprem","sku":{"name":"JA100"},"properties":{"databaseId":"` + servers + `/databases/jobdb1"}}`, 200},
		{"PUT", agentPath + "/targetGroups/g" + version, `{"properties":{"members":[]}}`, 201},
		{"PUT", agentPath + "/jobs/j" + version, `{"properties":{}}`, 201},
		{"PUT", agentPath + "/jobs/j/steps/s" + version, `{"properties":{"targetGroup":"` + agentPath + `/targetGroups/g","action":{"value":"SELECT 1"}}}`, 201},
		{"POST", agentPath + "/jobs/j/start" + version, "", 200},
		{"GET", agentPath + "/executions" + version, "", 200},
		{"PUT", collections + "/jc?api-version=2016-03-01", `{"location":"onprem","properties":{"sku":{"name":"Standard"}}}`, 201},
		{"GET", collections + "?api-version=2016-03-01", "", 200},
		{"POST", "/callbacks/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", `{"success":true}`, 404},
	} {
		r, text := s.do(t, c.method, c.path, c.body)
		require.Equal(t, c.status, r.StatusCode, "%s %s: %s %v", c.method, c.path, text, s.log.FilterField(zap.Int("status", r.StatusCode)).All())
	}
	require.Zero(t, s.log.FilterMessage("could not look after the job agent").Len())
	_, text := s.do(t, "GET", "/metrics", "")
	require.Contains(t, text, `jobagent_runs_reads_total{control_database="jobdb1",result="ok"} 1`)
}

// Faults of the configuration are found without a connection.
func TestCheckFindsFaults(t *testing.T) {
	t.Parallel()
	agent := "a"
	o := front.Options{
		Databases: []config.ControlDatabase{{Name: "d", Subscription: "no GUID", ResourceGroup: "r", Server: "s", ImplicitAgent: &agent}},
		Open: func(config.ControlDatabase) (*controldb.Store, error) {
			return controldb.New(controldb.Config{DSN: "sqlserver://u:p@h?database=d"})
		},
	}
	require.ErrorContains(t, front.Check(o), "want a GUID")
	o.Databases[0].Subscription = subscription
	require.NoError(t, front.Check(o))
	o.Config.Scheduler.Quotas = "maybe"
	require.ErrorContains(t, front.Check(o), "invalid quotas")
}
