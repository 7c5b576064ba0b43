package sap

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
)

// limited returns a surface with one instance, and a call of one of its tenants.
func limited(t *testing.T, tenant, total RateLimit) (*Surface, func(id, tenant string) (http.Header, error)) {
	t.Helper()
	s, err := New([]Service{{Instance: Instance{Name: "i", Tenant: "p", Limit: tenant}, Store: &controldb.Store{}}}, total, zap.NewNop())
	require.NoError(t, err)
	return s, func(id, tenant string) (http.Header, error) {
		r := &rest.Request{HTTP: httptest.NewRequest(http.MethodGet, "/", nil), Principal: rest.Principal{Instance: "i", Tenant: tenant}}
		c, err := s.newCall(r)
		require.NoError(t, err)
		return s.throttle(context.Background(), id, c)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, take := limited(t, RateLimit{Throttle: new(300), Deny: new(600)}, RateLimit{})
		for range 300 {
			header, err := take("Jobs_List", "a")
			require.NoError(t, err)
			require.Nil(t, header, "300 a minute are not delayed")
		}
		before := time.Now()
		header, err := take("Jobs_List", "a")
		require.NoError(t, err)
		require.Equal(t, "17", header.Get("throttling"), "ms")
		require.Equal(t, 17*time.Millisecond, time.Since(before))
		header, err = take("Jobs_List", "b")
		require.NoError(t, err)
		require.Nil(t, header, "the limit is one of the tenant")
	})
}

func TestLimitsRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, take := limited(t, RateLimit{Throttle: new(0), Deny: new(10)}, RateLimit{Throttle: new(0), Deny: new(20)})
		for range 10 {
			_, err := take("Jobs_List", "a")
			require.NoError(t, err)
		}
		_, err := take("Jobs_List", "a")
		var e *rest.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, http.StatusTooManyRequests, e.Status)
		require.Equal(t, 6*time.Second, e.RetryAfter)
		time.Sleep(e.RetryAfter)
		_, err = take("Jobs_List", "a")
		require.NoError(t, err, "it works again after Retry-After")

		for range 5 {
			_, err = take(reportOperation, "a")
			require.NoError(t, err, "reports are never refused by the limit of a tenant")
		}
		for range 10 {
			if _, err = take("Jobs_List", "b"); err != nil {
				break
			}
		}
		require.ErrorAs(t, err, &e)
		require.Equal(t, http.StatusServiceUnavailable, e.Status, "the limit over all callers")
		require.GreaterOrEqual(t, e.RetryAfter, time.Second)
		require.Less(t, e.RetryAfter, time.Minute)
	})
}

// Requests of a tenant beyond its limit do not use up the limit of all tenants.
func TestRefusedRequestsHurtNoOtherTenant(t *testing.T) {
	t.Parallel()
	_, take := limited(t, RateLimit{Throttle: new(0), Deny: new(10)}, RateLimit{Throttle: new(0), Deny: new(20)})
	refusals := 0
	for range 1000 {
		if _, err := take("Jobs_List", "a"); err != nil {
			refusals++
		}
	}
	require.Greater(t, refusals, 900)
	_, err := take("Jobs_List", "b")
	require.NoError(t, err)
}

func TestLimitsOff(t *testing.T) {
	t.Parallel()
	_, take := limited(t, RateLimit{Throttle: new(0), Deny: new(0)}, RateLimit{Throttle: new(0), Deny: new(0)})
	for range 10_000 {
		header, err := take("Jobs_List", "a")
		require.NoError(t, err)
		require.Nil(t, header)
	}
}

func TestTenantsAreBoundedInMemory(t *testing.T) {
	t.Parallel()
	b := newBuckets(RateLimit{Throttle: new(1), Deny: new(1)})
	now := time.Now()
	for i := range maxTenants + 10 {
		b.of(string(rune(i)), now).take(now, false)
	}
	require.LessOrEqual(t, len(b.list), maxTenants)
	b.of("new", now.Add(time.Hour))
	require.Len(t, b.list, 1, "tenants without requests are forgotten")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := Config{Instances: []Instance{{Name: "a", Tenant: "t", Credential: "run-token"}, {Name: "b", Tenant: "u", Database: "two", AllowAnonymousActions: true}}}
	require.NoError(t, good.Check([]string{"one", "two"}))
	bad := Config{Limit: RateLimit{Throttle: new(5), Deny: new(1)}, Instances: []Instance{
		{Name: "a", Tenant: "t"}, {Name: "a", Database: "three"}, {Limit: RateLimit{Deny: new(-1)}},
	}}
	err := bad.Check([]string{"one", "two"})
	for _, text := range []string{
		"sap.limit.throttle: want at most deny, 1", "sap.instances[0].credential is missing", "two instances have the name", "control_databases has no entry \"three\"",
		"sap.instances[2].name is missing", "sap.instances[2].limit: want numbers", "the instance \"a\" has the same control database",
	} {
		require.ErrorContains(t, err, text)
	}
}
