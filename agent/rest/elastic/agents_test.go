package elastic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/testenv/front"
)

// agentSurface is a surface with the operations on job agents alone.
type agentSurface struct{ *agents }

func (agentSurface) Name() string                                      { return "sql" }
func (s agentSurface) Operations() []rest.Operation                    { return s.operations() }
func (agentSurface) Check(*rest.Request) error                         { return nil }
func (agentSurface) Failure(_ *rest.Request, err error) *rest.Response { return rest.ARMFailure(err) }

const identityID = "/subscriptions/" + front.Subscription + "/resourceGroups/rg1/providers/Microsoft.ManagedIdentity/userAssignedIdentities/id1"

// startFront starts a front with two control databases: jobdb1 with the implicit agent agent1, and
// jobdb2, which has no schema and no implicit agent. Requests wait for their operations for wait.
func startFront(t *testing.T, wait time.Duration) (*front.Front, *rest.Entry) {
	t.Helper()
	var second *rest.Entry
	f := front.Start(t, func(t testing.TB, f *front.Front) []*rest.Mount {
		copied := *f.Entry
		second = &copied
		second.Name, second.ImplicitAgent = "jobdb2", ""
		second.Store = f.OpenControl(t, f.CreateDatabase(t, "jobdb2"))
		var err error
		f.Directory, err = rest.NewDirectory(f.Entry, second)
		require.NoError(t, err)
		identities := map[string]Identity{identityID: {PrincipalID: "p1"}}
		agents := newAgents(f.Directory, identities, zap.NewNop())
		agents.syncTime = wait
		return []*rest.Mount{{Surface: agentSurface{agents}, ARM: true}}
	})
	return f, second
}

// databaseID returns the resource id of a database of the front.
func databaseID(name string) string { return front.Servers + "/databases/" + name }

// putBody is the body of PUT with a SKU.
func putBody(database, sku string, capacity int) string {
	return fmt.Sprintf(`{"location":"onprem","sku":{"name":%q,"capacity":%d},"properties":{"databaseId":%q}}`, sku, capacity, databaseID(database))
}

func TestJobAgents(t *testing.T) {
	t.Parallel()
	f, second := startFront(t, time.Minute)
	t.Run("6 any case", func(t *testing.T) {
		a := f.Do(t, "GET", "/SUBSCRIPTIONS/"+front.Subscription+
			"/resourcegroups/RG1/providers/microsoft.sql/servers/SERVER1/jobagents/AGENT1"+front.Version, nil)
		require.Equal(t, 200, a.Status, a)
		require.JSONEq(t, fmt.Sprintf(`{"id":%q,"name":"agent1","type":"Microsoft.Sql/servers/jobAgents","location":"onprem",
			"sku":{"name":"JA100","capacity":100},"properties":{"databaseId":%q,"state":"Ready"}}`, front.A, databaseID("jobdb1")), a.Body)
		agent, err := account.On(f.Store).Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, account.AgentNone, agent.State, "nothing is written by a GET")
	})
	t.Run("8 SKU and capacity differ", func(t *testing.T) {
		a := f.Do(t, "PUT", front.A+front.Version, putBody("jobdb1", "JA100", 200))
		require.Equal(t, 400, a.Status, a)
		require.Equal(t, "SkuMismatchingNameCapacity", a.Code(t))
		agent, err := account.On(f.Store).Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, account.AgentNone, agent.State)
	})
	t.Run("10 another server", func(t *testing.T) {
		a := f.Do(t, "PUT", front.A+front.Version,
			`{"location":"onprem","properties":{"databaseId":"`+strings.Replace(databaseID("jobdb1"), "/server1/", "/other/", 1)+`"}}`)
		require.Equal(t, 400, a.Status, a)
		require.Equal(t, "MismatchingServerNameWithUrl", a.Code(t))
	})
	t.Run("an implicit agent keeps its name", func(t *testing.T) {
		a := f.Do(t, "PUT", front.Servers+"/jobAgents/mine"+front.Version, putBody("jobdb1", "JA100", 100))
		require.Equal(t, 400, a.Status, a)
		require.Equal(t, "JobAgentDatabaseAlreadyLinked", a.Code(t))
		require.Contains(t, a.Body, "implicit_agent")
		require.Equal(t, 200, f.Do(t, "GET", front.A+front.Version, nil).Status)
		require.Equal(t, 404, f.Do(t, "GET", front.Servers+"/jobAgents/mine"+front.Version, nil).Status)
	})
	t.Run("12 PATCH of tags", func(t *testing.T) {
		a := f.Do(t, "PATCH", front.A+front.Version, `{"tags":{"k":"v"}}`)
		require.Equal(t, 200, a.Status, a)
		require.Equal(t, "v", a.At(t, "tags.k"))
		require.Equal(t, "Ready", a.At(t, "properties.state"))
		require.Empty(t, a.Header.Get("Azure-AsyncOperation"))
		a = f.Do(t, "PATCH", front.A+front.Version, ``)
		require.Equal(t, 200, a.Status, a)
		require.Equal(t, "v", a.At(t, "tags.k"))
	})
	t.Run("14 DELETE of an absent agent", func(t *testing.T) {
		a := f.Do(t, "DELETE", front.Servers+"/jobAgents/nope"+front.Version, nil)
		require.Equal(t, 204, a.Status, a)
		a = f.Do(t, "GET", front.Servers+"/jobAgents/nope"+front.Version, nil)
		require.Equal(t, 404, a.Status, a)
		require.Equal(t, "ResourceNotFound", a.Code(t))
		require.Equal(t, "gateway", a.Header.Get("X-Ms-Failure-Cause"))
	})
	t.Run("a database without schema", func(t *testing.T) {
		path := front.Servers + "/jobAgents/a2" + front.Version
		second.Install = false
		a := f.Do(t, "PUT", path, putBody("jobdb2", "JA200", 200))
		require.Equal(t, 409, a.Status, a)
		require.Equal(t, "ElasticJobAgentOperationUnavailable", a.Code(t))
		second.Install = true
		a = f.Do(t, "PUT", path, putBody("jobdb2", "JA200", 200))
		require.Equal(t, 201, a.Status, a)
		require.Equal(t, "Ready", a.At(t, "properties.state"))
		a = f.Do(t, "PUT", path, putBody("jobdb2", "JA200", 200))
		require.Equal(t, 200, a.Status, a)
		a = f.Do(t, "GET", front.Servers+"/jobAgents"+front.Version, nil)
		require.Equal(t, 200, a.Status, a)
		require.Equal(t, "a2", a.At(t, "value.0.name"))
		require.Equal(t, "agent1", a.At(t, "value.1.name"))

		a = f.Do(t, "PUT", front.Servers+"/jobAgents/a3"+front.Version, putBody("jobdb2", "JA100", 100))
		require.Equal(t, 400, a.Status, a)
		require.Equal(t, "JobAgentDatabaseAlreadyLinked", a.Code(t))
		a = f.Do(t, "PUT", path, putBody("jobdb1", "JA200", 200))
		require.Equal(t, 404, a.Status, a)
		require.Equal(t, "PropertyChangeUnsupported", a.Code(t))
		a = f.Do(t, "PATCH", path, `{"sku":{"name":"JA7"},"identity":{"type":"UserAssigned","userAssignedIdentities":{"`+identityID+`":{}}}}`)
		require.Equal(t, 200, a.Status, a)
		require.InDelta(t, 7, a.At(t, "sku.capacity"), 0)
		require.Contains(t, a.Body, `"principalId":"p1"`)
		a = f.Do(t, "DELETE", path, nil)
		require.Equal(t, 200, a.Status, a)
		require.Equal(t, 204, f.Do(t, "DELETE", path, nil).Status)
		require.Equal(t, 404, f.Do(t, "GET", path, nil).Status)
	})
	t.Run("an implicit agent is deleted", func(t *testing.T) {
		require.Equal(t, 200, f.Do(t, "DELETE", front.A+front.Version, nil).Status)
		require.Equal(t, 404, f.Do(t, "GET", front.A+front.Version, nil).Status)
		a := f.Do(t, "PUT", front.A+front.Version, putBody("jobdb1", "JA100", 100))
		require.Equal(t, 201, a.Status, a)
	})
}

func TestJobAgentFaults(t *testing.T) {
	t.Parallel()
	f, _ := startFront(t, time.Minute)
	db := databaseID("jobdb1")
	for body, want := range map[string]string{
		``:                                      "InvalidResourceRequestBody",
		`{"location":"x"`:                       "InvalidResourceRequestBody",
		`[]`:                                    "InvalidResourceRequestBody",
		`{"properties":{}}`:                     "InvalidResourceRequestBody",
		`{"location":"onprem","properties":{}}`: "InvalidResourceRequestBody",
		`{"location":"onprem","location":"onprem","properties":{"databaseId":"` + db + `"}}`:                                                                 "InvalidResourceRequestBody",
		`{"location":"mars","properties":{"databaseId":"` + db + `"}}`:                                                                                       "InvalidResourceRequestBody",
		`{"location":"onprem","name":"other","properties":{"databaseId":"` + db + `"}}`:                                                                      "InvalidResourceRequestBody",
		`{"location":"onprem","tags":{"k":1},"properties":{"databaseId":"` + db + `"}}`:                                                                      "InvalidResourceRequestBody",
		`{"location":"onprem","tags":{"":"x"},"properties":{"databaseId":"` + db + `"}}`:                                                                     "InvalidResourceRequestBody",
		`{"location":"onprem","sku":{},"properties":{"databaseId":"` + db + `"}}`:                                                                            "MissingSkuName",
		`{"location":"onprem","sku":{"capacity":100},"properties":{"databaseId":"` + db + `"}}`:                                                              "MissingSkuName",
		`{"location":"onprem","sku":{"name":"S1"},"properties":{"databaseId":"` + db + `"}}`:                                                                 "ElasticJobAgentEditionUnsupported",
		`{"location":"onprem","sku":{"name":"JA10001"},"properties":{"databaseId":"` + db + `"}}`:                                                            "ElasticJobAgentEditionUnsupported",
		`{"location":"onprem","sku":{"name":"Agent","capacity":0},"properties":{"databaseId":"` + db + `"}}`:                                                 "SkuMismatchingNameCapacity",
		`{"location":"onprem","properties":{"databaseId":"jobdb1"}}`:                                                                                         "InvalidDatabaseResourceId",
		`{"location":"onprem","properties":{"databaseId":"` + db + `/x"}}`:                                                                                   "InvalidDatabaseResourceId",
		`{"location":"onprem","properties":{"databaseId":"` + strings.Replace(db, "0000-1111", "0000-9999", 1) + `"}}`:                                       "MismatchingSubscriptionWithUrl",
		`{"location":"onprem","properties":{"databaseId":"` + strings.Replace(db, front.Subscription, "nope", 1) + `"}}`:                                     "InvalidDatabaseResourceId",
		`{"location":"onprem","properties":{"databaseId":"` + strings.Replace(db, "/rg1/", "/rg2/", 1) + `"}}`:                                               "MismatchingResourceGroupNameWithUrl",
		`{"location":"onprem","properties":{"databaseId":"` + databaseID("nope") + `"}}`:                                                                     "DatabaseDoesNotExist",
		`{"location":"onprem","properties":{"databaseId":"` + databaseID("MASTER") + `"}}`:                                                                   "CannotUseReservedDatabaseName",
		`{"location":"onprem","identity":{},"properties":{"databaseId":"` + db + `"}}`:                                                                       "MissingIdentityType",
		`{"location":"onprem","identity":{"type":"SystemAssigned"},"properties":{"databaseId":"` + db + `"}}`:                                                "InvalidIdentityType",
		`{"location":"onprem","identity":{"type":"UserAssigned","tenantId":"t"},"properties":{"databaseId":"` + db + `"}}`:                                   "InvalidIdentityTenantId",
		`{"location":"onprem","identity":{"type":"UserAssigned"},"properties":{"databaseId":"` + db + `"}}`:                                                  "MissingUserAssignedIdentities",
		`{"location":"onprem","identity":{"type":"UserAssigned","userAssignedIdentities":{"a":{},"b":{}}},"properties":{"databaseId":"` + db + `"}}`:         "MultipleIdentitiesOnJobAgent",
		`{"location":"onprem","identity":{"type":"UserAssigned","userAssignedIdentities":{"/subscriptions/x":{}}},"properties":{"databaseId":"` + db + `"}}`: "InvalidResourceId",
	} {
		a := f.Do(t, "PUT", front.A+front.Version, body)
		require.Equal(t, 400, a.Status, "%s: %s", body, a.Body)
		require.Equal(t, want, a.Code(t), body)
		require.NotEmpty(t, a.At(t, "error.message"))
	}
	for _, name := range []string{"a%25b", "a%3Fb", "a.", "%20", strings.Repeat("a", 129), strings.Repeat("%F0%9F%98%80", 65), "a%0Ab"} {
		a := f.Do(t, "PUT", front.Servers+"/jobAgents/"+name+front.Version, putBody("jobdb1", "JA100", 100))
		require.Equal(t, 400, a.Status, "%s: %s", name, a.Body)
		require.Equal(t, "InvalidResourceRequestBody", a.Code(t), name)
	}
	long := f.Do(t, "PUT", front.A+front.Version, `{"location":"`+strings.Repeat("x", 100_000)+`","properties":{"databaseId":"`+db+`"}}`)
	require.Equal(t, 400, long.Status)
	require.Less(t, len(long.Body), 2000, "a message does not repeat a long text")
	for method, path := range map[string]string{"GET": "/jobAgents/agent1", "PUT": "/jobAgents/agent1", "DELETE": "/jobAgents/agent1"} {
		a := f.Do(t, method, strings.Replace(front.Servers, "/server1", "/server2", 1)+path+front.Version, putBody("jobdb1", "JA100", 100))
		require.Equal(t, 404, a.Status, a)
		require.Equal(t, "SubscriptionDoesNotHaveServer", a.Code(t))
	}
	for role, want := range map[rest.Role]int{rest.RoleReader: 403, rest.RoleOperator: 403, rest.RoleAuthor: 403} {
		require.Equal(t, want, f.DoAs(t, role, "PUT", front.A+front.Version, putBody("jobdb1", "JA100", 100)).Status)
		require.Equal(t, want, f.DoAs(t, role, "DELETE", front.A+front.Version, nil).Status)
		require.Equal(t, 200, f.DoAs(t, role, "GET", front.A+front.Version, nil).Status)
	}
	agent, err := account.On(f.Store).Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, account.AgentNone, agent.State, "no fault has changed anything")
}

// An operation that takes longer than two seconds is answered with 202, and can be followed.
func TestJobAgentLongRunningOperation(t *testing.T) {
	t.Parallel()
	f, _ := startFront(t, time.Minute)
	require.Equal(t, 200, f.Do(t, "PATCH", front.A+front.Version, `{"tags":{}}`).Status)
	// Another front has begun a change, holds it, and was killed.
	capacity := 7
	_, id, err := account.On(f.Store).Set(t.Context(), account.Change{Name: "agent1", Capacity: &capacity})
	require.NoError(t, err)
	hold(t, f, 60)
	for method, body := range map[string]string{"PUT": putBody("jobdb1", "JA100", 100), "PATCH": `{"sku":{"name":"JA9"}}`, "DELETE": ""} {
		a := f.Do(t, method, front.A+front.Version, body)
		require.Equal(t, 409, a.Status, a)
		require.Equal(t, "OperationInterrupted", a.Code(t))
		require.Equal(t, "15", a.Header.Get("Retry-After"))
	}
	require.Equal(t, "Updating", f.Do(t, "GET", front.A+front.Version, nil).At(t, "properties.state"))
	location := front.Group + "/providers/Microsoft.Sql/locations/onprem/"
	for _, base := range []string{location, strings.Replace(location, "/resourceGroups/rg1", "", 1)} {
		a := f.Do(t, "GET", base+"jobAgentAzureAsyncOperation/"+id.String()+front.Version, nil)
		require.Equal(t, 200, a.Status, a)
		require.Equal(t, "InProgress", a.At(t, "status"))
		require.Equal(t, id.String(), a.At(t, "name"))
		require.Equal(t, "15", a.Header.Get("Retry-After"))
		a = f.Do(t, "GET", base+"jobAgentOperationResults/"+id.String()+front.Version, nil)
		require.Equal(t, 202, a.Status, a)
		require.Equal(t, "UpsertJobAccount", a.At(t, "operation"))
		for _, other := range []string{uuid.NewString(), "nope"} {
			a = f.Do(t, "GET", base+"jobAgentOperationResults/"+other+front.Version, nil)
			require.Equal(t, 404, a.Status, a)
			require.Equal(t, "OperationIdNotFound", a.Code(t))
		}
	}
	hold(t, f, 0)
	require.NoError(t, account.On(f.Store).Advance(t.Context(), uuid.New(), time.Second))
	a := f.Do(t, "GET", location+"jobAgentAzureAsyncOperation/"+id.String()+front.Version, nil)
	require.Equal(t, "Succeeded", a.At(t, "status"), a)
	a = f.Do(t, "GET", location+"jobAgentOperationResults/"+id.String()+front.Version, nil)
	require.Equal(t, 200, a.Status, a)
	require.Equal(t, "JA7", a.At(t, "sku.name"))
}

// hold gives the operation in progress to another holder, for some seconds from now.
func hold(t *testing.T, f *front.Front, seconds int) {
	t.Helper()
	_, err := f.DB(t, f.Control).ExecContext(t.Context(), `UPDATE jobs_internal.job_agent_operations
SET holder = NEWID(), held_until = DATEADD(SECOND, @p1, SYSUTCDATETIME()) WHERE status = N'InProgress';`, seconds)
	require.NoError(t, err)
}

// A deletion that waits for a run is answered with 202. A second DELETE joins it.
func TestJobAgentDeletionIsAnsweredLater(t *testing.T) {
	t.Parallel()
	f, _ := startFront(t, time.Millisecond)
	ctx := t.Context()
	_, _, err := account.On(f.Store).Set(ctx, account.Change{Name: "agent1", Location: &f.Entry.Location})
	require.NoError(t, err)
	require.NoError(t, account.On(f.Store).Advance(ctx, uuid.New(), time.Minute))
	// An agent that does not answer holds a task.
	db := f.DB(t, f.Control)
	_, err = db.ExecContext(ctx, `EXECUTE jobs.sp_add_target_group @target_group_name = N'g';
EXECUTE jobs.sp_add_target_group_member @target_group_name = N'g', @target_type = N'SqlDatabase', @server_name = N's', @database_name = N'd';
EXECUTE jobs.sp_add_job @job_name = N'j';
EXECUTE jobs.sp_add_jobstep @job_name = N'j', @step_name = N's', @command = N'SELECT 1;', @target_group_name = N'g';`)
	require.NoError(t, err)
	term := f.HoldTask(t, "j")

	a := f.Do(t, "DELETE", front.A+front.Version, nil)
	require.Equal(t, 202, a.Status, a)
	require.Equal(t, "DropJobAccount", a.At(t, "operation"))
	async := a.Header.Get("Azure-AsyncOperation")
	require.True(t, strings.HasPrefix(async, f.URL+front.Group+"/providers/Microsoft.Sql/locations/onprem/jobAgentAzureAsyncOperation/"), async)
	require.True(t, strings.HasSuffix(async, front.Version), async)
	result := strings.TrimPrefix(a.Header.Get("Location"), f.URL)
	second := f.Do(t, "DELETE", front.A+front.Version, nil)
	require.Equal(t, async, second.Header.Get("Azure-AsyncOperation"))
	require.Equal(t, "Deleting", f.Do(t, "GET", front.A+front.Version, nil).At(t, "properties.state"))
	require.Equal(t, http.StatusConflict, f.Do(t, "PUT", front.A+front.Version, putBody("jobdb1", "JA100", 100)).Status)

	require.NoError(t, f.Store.EndTerm(ctx, term)) // the agent's tasks are handed over, and then canceled
	// A front whose answer was due in the middle of a call has left its lease behind.
	hold(t, f, 0)
	status := func() any { return f.Do(t, "GET", strings.TrimPrefix(async, f.URL), nil).At(t, "status") }
	for n := 0; n < 100 && status() != "Succeeded"; n++ { // a call advances as far as it gets in its time
		require.NoError(t, account.On(f.Store).Advance(ctx, uuid.New(), time.Second))
	}
	require.Equal(t, "Succeeded", status())
	require.Equal(t, 204, f.Do(t, "GET", result, nil).Status)
	require.Equal(t, 404, f.Do(t, "GET", front.A+front.Version, nil).Status)
}

// cutDialer dials until it is cut. Then all its connections are closed.
type cutDialer struct {
	*front.Front
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (d *cutDialer) HostName() string { return "" }

func (d *cutDialer) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cut {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("cut")}
	}
	c, err := d.Dial(ctx, network)
	d.conns = append(d.conns, c)
	return c, err
}

// While the database is away, the last copy is shown as Disabled, and changes fail with 503.
func TestJobAgentIsDisabledWhileItsDatabaseIsAway(t *testing.T) {
	t.Parallel()
	dialer := &cutDialer{}
	f := front.Start(t, func(t testing.TB, f *front.Front) []*rest.Mount {
		dialer.Front = f
		var err error
		f.Entry.Store, err = controldb.New(controldb.Config{DSN: f.DSN(f.Control), Dialer: dialer})
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Entry.Store.Close() })
		return []*rest.Mount{{Surface: agentSurface{newAgents(f.Directory, nil, zap.NewNop())}, ARM: true}}
	})
	require.Equal(t, 200, f.Do(t, "GET", front.A+front.Version, nil).Status)
	dialer.mu.Lock()
	dialer.cut = true
	for _, c := range dialer.conns {
		_ = c.Close()
	}
	dialer.mu.Unlock()
	for _, path := range []string{front.A, front.Servers + "/jobAgents"} {
		a := f.Do(t, "GET", path+front.Version, nil)
		require.Equal(t, 200, a.Status, a)
		require.Contains(t, a.Body, `"state":"Disabled"`)
	}
	for method, body := range map[string]string{"PUT": putBody("jobdb1", "JA100", 100), "PATCH": "{}", "DELETE": ""} {
		a := f.Do(t, method, front.A+front.Version, body)
		require.Equal(t, 503, a.Status, a)
		require.NotEmpty(t, a.Header.Get("Retry-After"))
	}
}
