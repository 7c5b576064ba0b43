package sap

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/testenv/front"
)

// realFront is a front with the authentication of package auth, on the control database of the
// shared front.
type realFront struct {
	*front.Front
	server *httptest.Server
	key    *rsa.PrivateKey
}

const (
	clientID     = "sb-jobagent"
	clientSecret = "0123456789abcdef0123456789abcdef"
	basicUser    = "lite"
)

// tenantLookup looks up tenants for the issuer, by id or subdomain.
type tenantLookup struct{ *controldb.Store }

// Tenant implements issuer.Tenants.
func (l tenantLookup) Tenant(ctx context.Context, _, name string) (issuer.Tenant, bool, error) {
	list, err := sap.On(l.Store).Tenants(ctx, "")
	for _, t := range list {
		if t.Subscribed && (t.ID == name || t.SubDomain == name) {
			return issuer.Tenant{ID: t.ID, Subdomain: t.SubDomain}, true, nil
		}
	}
	return issuer.Tenant{}, false, err
}

// startReal starts a front with the authentication of package auth.
func startReal(t *testing.T) *realFront {
	t.Helper()
	f := &realFront{Front: front.Shared(t)}
	var err error
	f.key, err = rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(f.key)
	require.NoError(t, err)
	t.Setenv("SAP_TEST_KEY", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})))
	sum := sha256.Sum256([]byte(clientSecret))
	hash := "sha256$" + hex.EncodeToString(sum[:])

	s, err := New([]Service{{
		Instance: Instance{Name: "instance", Tenant: provider, SubDomain: "provider-subdomain", AllowAnonymousActions: true, Limit: unlimited},
		Store:    f.Store,
	}}, unlimited, logger(f.Log))
	require.NoError(t, err)
	f.server = httptest.NewUnstartedServer(nil)
	publicURL := "https://" + f.server.Listener.Addr().String()
	authenticator, err := auth.New(auth.Config{}, auth.Options{
		PublicURL: publicURL, Log: zap.NewNop(), Tenants: tenantLookup{f.Store}, Instances: []auth.Instance{{
			Name: "instance", Tenant: provider, Subdomain: "provider-subdomain", SigningKeys: []string{"env:SAP_TEST_KEY"},
			Users: []auth.User{
				{Name: basicUser, PasswordHash: hash},
				{Name: "reader", PasswordHash: hash, Tenant: tenantOne, Scopes: []string{auth.ScopeRead}},
			},
			Clients: []auth.Client{{ID: clientID, SecretHashes: []string{hash}}},
		}},
	})
	require.NoError(t, err)
	mounts := []*rest.Mount{{Surface: s, MaxBody: MaxBody, Timeout: Timeout}}
	for _, one := range authenticator.Surfaces() {
		mounts = append(mounts, &rest.Mount{Surface: one})
	}
	server, err := rest.New(rest.Config{
		Mounts: mounts, Authenticator: authenticator, Authorizer: authenticator, PublicURL: publicURL, Log: logger(f.Log),
	})
	require.NoError(t, err)
	f.server.Config.Handler = server
	f.server.StartTLS()
	t.Cleanup(f.server.Close)
	return f
}

// token gets a token of a tenant from the front's own issuer.
func (f *realFront) token(t *testing.T, tenant string) string {
	t.Helper()
	a := f.with(t, "POST", f.server.URL+"/uaa/"+tenant+"/oauth/token", "grant_type=client_credentials&response_type=token", basic(clientID, clientSecret),
		"Content-Type: application/x-www-form-urlencoded")
	require.Equal(t, 200, a.Status, a.Body)
	text, _ := a.JSON(t)["access_token"].(string)
	return text
}

// with sends a request to this front with its own certificate.
func (f *realFront) with(t *testing.T, method, address string, body any, headers ...string) front.Answer {
	t.Helper()
	other := *f.Front
	other.HTTP = f.server.Client()
	if !strings.HasPrefix(address, "https://") {
		address = f.server.URL + root + address
	}
	return other.Do(t, method, address, body, headers...)
}

// basic returns the header of Basic.
func basic(user, password string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestCase092NoCredentials(t *testing.T) {
	f := startReal(t)
	var bodies []string
	for _, header := range []string{"Authorization:", basic(basicUser, "wrong"), basic("nobody", clientSecret), "Authorization: Bearer x", "Authorization: bearer a.b.c"} {
		a := f.with(t, "GET", "/jobs", nil, header)
		require.Equal(t, 401, a.Status)
		require.JSONEq(t, `{"code":401,"message":"Unauthorized","type":"Authentication Error","detailedError":"Unauthorized"}`, a.Body)
		require.NotEmpty(t, a.Header.Get("WWW-Authenticate"))
		bodies = append(bodies, a.Body)
	}
	require.Len(t, slices.Compact(bodies), 1)
	require.Equal(t, 200, f.with(t, "GET", "/jobs", nil, basic(basicUser, clientSecret)).Status)
	require.Equal(t, 200, f.with(t, "GET", "/jobs", nil, "Authorization: bearer "+f.token(t, provider)).Status, "the scheme in any case")
}

func TestCase094Tokens(t *testing.T) {
	f := startReal(t)
	good := f.token(t, provider)
	parser := jwt.NewParser()
	claims := jwt.MapClaims{}
	parsed, _, err := parser.ParseUnverified(good, claims)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(&f.key.PublicKey)
	require.NoError(t, err)
	signed := func(method jwt.SigningMethod, key any, change jwt.MapClaims) string {
		all := jwt.MapClaims{}
		maps.Copy(all, claims)
		maps.Copy(all, change)
		token := jwt.NewWithClaims(method, all)
		token.Header["kid"] = parsed.Header["kid"]
		text, err := token.SignedString(key)
		require.NoError(t, err)
		return text
	}
	status := func(token string) int { return f.with(t, "GET", "/jobs", nil, "Authorization: bearer "+token).Status }
	require.Equal(t, 200, status(signed(jwt.SigningMethodRS256, f.key, jwt.MapClaims{})), "the control of this test")
	require.Equal(t, 200, status(signed(jwt.SigningMethodRS256, f.key, jwt.MapClaims{"exp": time.Now().Add(-50 * time.Second).Unix()})), "60 s leeway")
	for name, token := range map[string]string{
		"alg none":       signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, jwt.MapClaims{}),
		"HS256":          signed(jwt.SigningMethodHS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), jwt.MapClaims{}),
		"expired by 61s": signed(jwt.SigningMethodRS256, f.key, jwt.MapClaims{"exp": time.Now().Add(-61 * time.Second).Unix()}),
		"audience":       signed(jwt.SigningMethodRS256, f.key, jwt.MapClaims{"aud": "other"}),
		"issuer":         signed(jwt.SigningMethodRS256, f.key, jwt.MapClaims{"iss": "https://other.example"}),
	} {
		require.Equal(t, 401, status(token), name)
	}
}

func TestCase102Scopes(t *testing.T) {
	f := startReal(t)
	read := basic("reader", clientSecret)
	require.Equal(t, 200, f.with(t, "GET", "/jobs", nil, read).Status)
	for _, one := range []string{"POST /jobs", "PUT /jobs/1", "DELETE /jobs/1", "POST /schedules/preview"} {
		method, path, _ := strings.Cut(one, " ")
		a := f.with(t, method, path, object{}, read)
		require.JSONEq(t, `{"code":403,"message":"Forbidden","type":"Forbidden Request","detailedError":"Forbidden"}`, a.Body, one)
	}
	require.Equal(t, 403, f.with(t, "DELETE", f.server.URL+"/admin/tenants/x/subscriptions/y", nil, "Authorization: bearer "+f.token(t, provider)).Status,
		"the scope job-scheduler.admin is needed")
}

// TestCase026Binding uses SAP's client with a bound service.
func TestCase026Binding(t *testing.T) {
	f := startReal(t)
	binding, err := Binding{Name: "jobs", PublicURL: f.server.URL, Tenant: tenantOne, ClientID: clientID, ClientSecret: clientSecret}.VCAPServices()
	require.NoError(t, err)
	requests := func() int { return strings.Count(f.Log.String(), `"operation":"UAA_Token"`) }
	before := requests()
	c := newSAPClient(t, f.server, map[string]any{}, "VCAP_SERVICES="+string(binding))
	c.call("fetchJobs", object{})
	c.call("fetchJobs", object{})
	require.Equal(t, before+1, requests(), "one token request")
	lite, err := Binding{Name: "jobs", PublicURL: f.server.URL, User: basicUser, Password: clientSecret}.VCAPServices()
	require.NoError(t, err)
	newSAPClient(t, f.server, map[string]any{}, "VCAP_SERVICES="+string(lite)).call("fetchJobs", object{})
}

// TestTenantThatLeft checks S-58 and S-59.
func TestTenantThatLeft(t *testing.T) {
	admin := as(t, provider+"-admin")
	f := startReal(t)
	const tenant = "tenant-leaving"
	subscription := func(method, app string, body any) front.Answer {
		return admin.f.Do(t, method, "/admin/tenants/"+tenant+"/subscriptions/"+app, body, "Authorization: Bearer "+admin.token)
	}
	a := f.with(t, "POST", f.server.URL+"/uaa/"+tenant+"/oauth/token", "grant_type=client_credentials", basic(clientID, clientSecret), "Content-Type: application/x-www-form-urlencoded")
	require.Equal(t, 401, a.Status, "nobody gets a token of an unknown tenant")
	require.Equal(t, 200, subscription("PUT", "app1", object{"subdomain": "leaving"}).Status)
	require.Equal(t, 200, subscription("PUT", "app1", object{"subdomain": "leaving"}).Status, "a repeat")
	require.Equal(t, 200, subscription("PUT", "app2", nil).Status)
	bearer := "Authorization: bearer " + f.token(t, "leaving")
	made := f.with(t, "POST", "/jobs", object{"name": "x", "action": f.H.URL, "schedules": []object{{"time": "2099-01-01", "data": object{"a": 1}}}}, bearer)
	require.Equal(t, 201, made.Status, made.Body)
	require.Equal(t, 200, subscription("DELETE", "app1", nil).Status)
	require.Equal(t, 1.0, f.with(t, "GET", "/jobs", nil, bearer).At(t, "total"), "another subscription is left")
	require.Equal(t, 200, subscription("DELETE", "app2", nil).Status)
	for _, one := range []string{"GET /jobs", "POST /jobs", "GET /jobCount"} {
		method, path, _ := strings.Cut(one, " ")
		body := object{"name": "y", "action": f.H.URL, "schedules": []object{}}
		require.JSONEq(t, `{"code":403,"message":"Forbidden","type":"Forbidden Request","detailedError":"Forbidden"}`, f.with(t, method, path, body, bearer).Body, one)
	}
	require.Equal(t, 404, admin.do("GET", fmt.Sprintf("/jobs/%v", made.JSON(t)["_id"]), nil).Status)
	require.Equal(t, 200, subscription("DELETE", "app2", nil).Status, "a repeat continues what an earlier request has begun")
	require.Equal(t, 404, admin.f.Do(t, "DELETE", "/admin/tenants/"+tenantOne+"/subscriptions/none", nil, "Authorization: Bearer "+admin.token).Status)
	as(t, "tenant-unknown").failure(403, "GET", "/jobs", nil)
	require.Equal(t, 403, as(t, provider).f.Do(t, "GET", "/admin/tenants", nil, "Authorization: Bearer "+provider).Status)
	for _, one := range []string{"GET /admin/tenants", "PUT /admin/tenants/x/subscriptions/y", "DELETE /admin/tenants/" + tenantTwo + "/subscriptions/app"} {
		method, path, _ := strings.Cut(one, " ")
		require.Equal(t, 403, admin.f.Do(t, method, path, nil, "Authorization: Bearer "+tenantOne+"-admin").Status, "a subscriber manages no tenants")
	}
	require.Contains(t, admin.f.Do(t, "GET", "/admin/tenants", nil, "Authorization: Bearer "+admin.token).Body, `"tenantId":"tenant-one"`)
}

func TestCase098Provider(t *testing.T) {
	one, two, p := as(t, tenantOne), as(t, tenantTwo), as(t, provider)
	path, job := one.job("case 98")
	two.job("case 98")
	p.job("case 98 of the provider")
	list := results(t, p.ok(200, "GET", "/jobs?filter=contains(name,'case+98')&page_size=100", nil))
	var subDomains []string
	for _, j := range list {
		subDomains = append(subDomains, j["subDomain"].(string))
	}
	require.ElementsMatch(t, []string{"one", "two", "provider-subdomain"}, subDomains)
	for _, j := range results(t, p.ok(200, "GET", "/jobs?page_size=100&tenantId="+tenantOne, nil)) {
		require.Equal(t, "one", j["subDomain"])
	}
	require.Empty(t, results(t, p.ok(200, "GET", "/jobs?tenantId=none", nil)), "S-22")
	require.Contains(t, p.failure(400, "GET", "/jobs?name=case+98", nil), "specify tenantId", "S-13")
	require.Equal(t, job["_id"], p.ok(200, "GET", "/jobs?name=case+98&tenantId="+tenantOne, nil)["_id"])
	require.Equal(t, job["_id"], one.ok(200, "GET", "/jobs?name=case+98&tenantId="+tenantOne, nil)["_id"], "P sends its own tenant")
	one.failure(400, "GET", "/jobs?name=case+98&tenantId="+tenantTwo, nil)
	p.ok(200, "PUT", path, object{"description": "by the provider"})
	require.Equal(t, "by the provider", one.ok(200, "GET", path, nil)["description"])
	p.ok(200, "DELETE", path, nil)
	one.failure(404, "GET", path, nil)
}

// TestCase096TenantWalk sends the ids of another tenant to every operation of the surface. Each
// answer is byte for byte the one for ids that never existed, and nothing changes.
func TestCase096TenantWalk(t *testing.T) {
	owner, stranger := as(t, tenantOne), as(t, tenantTwo)
	path, job := owner.job("tenant walk", object{"repeatInterval": "1 years", "startTime": "2098-01-01", "active": true, "data": object{"secret": "of tenant one"}})
	schedule := scheduleOf(t, job, 0)
	var run string
	eventually(t, "the agent computes the next run", func() bool {
		list := results(t, owner.ok(200, "GET", path+"/schedules/"+schedule+"/runs", nil))
		if len(list) == 1 {
			run = list[0]["runId"].(string)
		}
		return len(list) == 1
	})
	id := path[len("/jobs/"):]
	foreign := map[string]string{"jobId": id, "scheduleId": schedule, "runId": run}
	unknown := map[string]string{"jobId": "999999", "scheduleId": uuid.NewString(), "runId": uuid.NewString()}
	bodies := map[string]any{
		"Jobs_Create":      nil,
		"Jobs_Put":         object{"description": "changed", "active": false, "action": "https://h.example/"},
		"Schedules_Create": object{"time": "now", "active": true}, "Schedules_Update": object{"description": "changed", "data": object{}, "active": false},
		"Schedules_Activate": object{"activationStatus": false}, reportOperation: object{"success": true, "message": "m"},
	}
	queries := map[string]string{
		"Jobs_List": "?jobId={jobId}&displaySchedules=true", "Jobs_Get": "?displaySchedules=true", "Schedules_Get": "?displayLogs=true",
		"ActionLogs_List": "?jobId={jobId}&scheduleId={scheduleId}", "RunLogs_List": "?next={runId}",
	}
	// Operations that name no object: they show the stranger nothing of the owner's.
	lists := []string{"Jobs_Count", "GlobalParameters_Get", "GlobalParameters_Update", "Jobs_Search", "Schedules_Search", "Schedules_Preview", "Jobs_Create"}
	before := snapshot(t, owner, path, schedule)
	s, err := New(nil, unlimited, zap.NewNop())
	require.NoError(t, err)
	walked := 0
	for _, op := range s.Operations() {
		if op.Role == rest.RoleAdmin || slices.Contains(lists, op.ID) {
			continue
		}
		t.Run(op.ID, func(t *testing.T) {
			walked++
			// Each level of the path is foreign; below a job of the stranger's own, too.
			ids := []map[string]string{foreign}
			if strings.Contains(op.Path+queries[op.ID], "{scheduleId}") {
				ownPath, own := stranger.job("walk " + op.ID)
				ids = append(ids, map[string]string{"jobId": ownPath[len("/jobs/"):], "scheduleId": schedule, "runId": run},
					map[string]string{"jobId": ownPath[len("/jobs/"):], "scheduleId": scheduleOf(t, own, 0), "runId": run})
			}
			for i, one := range ids {
				never := maps.Clone(one)
				switch i {
				case 0:
					never = unknown
				case 1:
					never["scheduleId"], never["runId"] = unknown["scheduleId"], unknown["runId"]
				default:
					never["runId"] = unknown["runId"]
					if !strings.Contains(op.Path+queries[op.ID], "{runId}") {
						continue
					}
				}
				send := func(values map[string]string) front.Answer {
					text := strings.TrimPrefix(op.Path, root) + queries[op.ID]
					for name, value := range values {
						text = strings.ReplaceAll(text, "{"+name+"}", url.PathEscape(value))
					}
					return stranger.do(op.Method, text, bodies[op.ID])
				}
				got, want := send(one), send(never)
				if op.ID != "ActionLogs_List" { // the log of an unknown job is empty
					require.Contains(t, []int{400, 404}, got.Status, got.Body)
				}
				require.Equal(t, want.Body, got.Body)
				require.Equal(t, want.Status, got.Status)
				require.Equal(t, plain(want.Header), plain(got.Header))
			}
		})
	}
	require.Equal(t, 15, walked, "every operation with ids; adjust the lists of this test for a new one")
	stranger.failure(404, "GET", "/jobs?name=tenant+walk", nil)
	for _, one := range []string{"/search/jobs?q=walk", "/search/schedules?q=secret", "/jobs?filter=contains(name,'tenant+walk')"} {
		require.NotContains(t, stranger.do("GET", one, nil).Body, "tenant walk", one)
		require.NotContains(t, stranger.do("GET", one, nil).Body, "of tenant one", one)
	}
	require.Equal(t, before, snapshot(t, owner, path, schedule), "nothing has changed")
}

// plain returns a header without the members that differ for each request.
func plain(h http.Header) http.Header {
	h = h.Clone()
	h.Del("Date")
	return h
}

// snapshot returns everything that the owner of a job sees of it.
func snapshot(t *testing.T, a *api, path, schedule string) string {
	t.Helper()
	all := []any{}
	for _, one := range []string{path + "?displaySchedules=true", path + "/schedules", path + "/schedules/" + schedule + "?displayLogs=true", path + "/schedules/" + schedule + "/runs", "/actionLogs?jobId=" + path[len("/jobs/"):]} {
		all = append(all, a.ok(200, "GET", one, nil))
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	return string(text)
}

func TestCase104Audit(t *testing.T) {
	a := as(t, tenantOne)
	path, _ := a.job("case 104")
	lines := func() (list []string) {
		for line := range strings.SplitSeq(a.f.Log.String(), "\n") {
			if strings.Contains(line, "JOB-SCHEDULING-SERVICE") && strings.Contains(line, path+"/schedules") {
				var entry struct{ Msg string }
				require.NoError(t, json.Unmarshal([]byte(line), &entry))
				list = append(list, entry.Msg)
			}
		}
		return list
	}
	a.ok(201, "POST", path+"/schedules", object{"time": "2099-01-01", "data": object{"password": "hunter2"}})
	a.failure(400, "POST", path+"/schedules", object{"cron": "x"})
	got := lines()
	require.Len(t, got, 4)
	var ids []string
	for i, line := range got {
		var id, phase string
		rest, ok := strings.CutPrefix(line, "JOB-SCHEDULING-SERVICE - Action: JobCreation - Correlation-ID: ")
		require.True(t, ok, line)
		id, rest, _ = strings.Cut(rest, " - Request phase: ")
		phase, rest, _ = strings.Cut(rest, " - Info: ")
		require.Equal(t, []string{"START", "END"}[i%2], phase)
		ids = append(ids, id)
		var info auditInfo
		require.NoError(t, json.Unmarshal([]byte(rest), &info), rest)
		require.Equal(t, "SaaS", info.Tenant.Type)
		require.Equal(t, tenantOne, info.Tenant.ConsumerTenant)
		require.Equal(t, "oauth", info.AuthType)
		require.Equal(t, "POST", info.Resource.Method)
		require.NotContains(t, line, "hunter2")
		if i == 3 {
			require.Equal(t, &auditErrorRef{Code: 400, Message: "Invalid cron specified"}, info.Error)
		} else {
			require.Nil(t, info.Error)
		}
	}
	require.Equal(t, ids[0], ids[1])
	require.Equal(t, ids[2], ids[3])
	require.NotEqual(t, ids[0], ids[2])
}
