package sap

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/front"
)

// frontRunner runs the tests of the package, and stops the front that they share.
type frontRunner struct{ *testing.M }

// Run implements goleak.TestingM.
func (m frontRunner) Run() int {
	testenv.Overlap(6)
	return front.Main(m.M, surfaces)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(frontRunner{m}) }

// The tenants of the tests.
const (
	provider             = "provider-tenant"
	tenantOne, tenantTwo = "tenant-one", "tenant-two"
)

// surfaces mounts the surface with one instance. Each token is named for its tenant, with -read for
// one that may only read.
func surfaces(t testing.TB, f *front.Front) []*rest.Mount {
	s, err := New([]Service{{
		Instance: Instance{Name: "instance", Tenant: provider, SubDomain: "provider-subdomain", AllowAnonymousActions: true, Limit: unlimited, Tasks: tasks},
		Store:    f.Store,
	}}, unlimited, logger(f.Log))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{provider, tenantOne, tenantTwo, "tenant-unknown"} {
		addTokens(f, tenant)
	}
	for tenant, subDomain := range map[string]string{tenantOne: "one", tenantTwo: "two"} {
		if err := sap.On(f.Store).Subscribe(t.Context(), tenant, subDomain, "app"); err != nil {
			t.Fatal(err)
		}
	}
	return []*rest.Mount{{Surface: s, MaxBody: MaxBody, Timeout: Timeout}}
}

// tasks are the processes that jobs of the provider may run.
var tasks = []string{front.ProcessCopy, front.ProcessFail, front.ProcessWait, front.ProcessMissing, "of-no-agent"}

// addTokens makes the tokens of a tenant known.
func addTokens(f *front.Front, tenant string) {
	for suffix, role := range map[string]rest.Role{"": rest.RoleAuthor, "-read": rest.RoleReader, "-admin": rest.RoleAdmin} {
		p := rest.Principal{ID: "sub:" + tenant + suffix, Name: "client of " + tenant, Instance: "instance", Tenant: tenant}
		for _, token := range []string{tenant + suffix, tenant + suffix + jwtTail} {
			f.Tokens.Add(token, p, func(surface string, scope rest.Scope) rest.Role {
				if surface == "sap" && scope.Instance == "instance" {
					return role
				}
				return rest.RoleNone
			})
		}
	}
}

// ownTenant subscribes a tenant for one test, which counts its jobs, and returns its id.
func ownTenant(t *testing.T) string {
	t.Helper()
	f, tenant := front.Shared(t), "tenant-"+uuid.NewString()
	addTokens(f, tenant)
	require.NoError(t, sap.On(f.Store).Subscribe(t.Context(), tenant, tenant, "app"))
	t.Cleanup(func() {
		require.NoError(t, sap.On(f.Store).Unsubscribe(context.WithoutCancel(t.Context()), tenant, "app"))
	})
	return tenant
}

// forget deletes a job when the test ends, so that the next run of the test can use its name again.
func forget(t *testing.T, store *controldb.Store, job object) {
	t.Helper()
	id, isNumber := job["_id"].(float64)
	require.True(t, isNumber, "%v", job)
	t.Cleanup(func() {
		_, err := sap.On(store).DeleteJob(context.WithoutCancel(t.Context()), sap.Provider(), sap.Write{By: "test"}, int64(id))
		if !errors.Is(err, dberror.ErrSAPNotFound) { // the test itself has deleted it
			require.NoError(t, err)
		}
	})
}

// logger returns a logger that writes into the log of a front.
func logger(w zapcore.WriteSyncer) *zap.Logger {
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), w, zap.DebugLevel))
}

// unlimited switches a limit off.
var unlimited = RateLimit{Throttle: new(0), Deny: new(0)}
