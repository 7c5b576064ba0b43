package rest

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// named is a surface that has only a name.
type named struct {
	Surface
	name string
}

func (n named) Name() string { return n.name }

func TestLimiter(t *testing.T) {
	t.Parallel()
	l := newLimiter(Limits{Reads: Limit{PerHour: 3600, Burst: 3}, Writes: Limit{PerHour: 7200, Burst: 10}})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	take := func(surface, method, caller string) (http.Header, *Error) {
		header := http.Header{}
		r := &Request{
			HTTP: httptest.NewRequest(method, "/", nil), Mount: &Mount{Surface: named{name: surface}}, Operation: &Operation{Path: "/{c}/jobs/{j}"},
			Principal: Principal{ID: caller}, received: now,
		}
		err := l.take(header, r)
		if err == nil {
			return header, nil
		}
		return header, err.(*Error) //nolint:errorlint // take wraps nothing
	}
	for want := range 3 {
		header, err := take("sql", "GET", "a")
		require.Nil(t, err)
		require.Equal(t, []string{"3599", "3598", "3597"}[want], header.Get("X-Ms-Ratelimit-Remaining-Subscription-Reads"))
	}
	_, err := take("sql", "GET", "a")
	require.NotNil(t, err)
	require.Equal(t, 429, err.Status)
	require.Equal(t, time.Second, err.RetryAfter)
	_, err = take("sql", "GET", "b")
	require.Nil(t, err, "each caller has buckets of its own")
	_, err = take("sql", "DELETE", "a")
	require.Nil(t, err, "deletes have no limit here")
	header, err := take("sql", "PUT", "a")
	require.Nil(t, err)
	require.Equal(t, "7199", header.Get("X-Ms-Ratelimit-Remaining-Subscription-Writes"))
	header, err = take("scheduler", "POST", "c")
	require.Nil(t, err)
	require.Equal(t, "599", header.Get("X-Ms-Ratelimit-Remaining-Subscription-Resource-Requests"))
	require.Equal(t, "9", header.Get("X-Ms-Ratelimit-Burst-Remaining-Scheduler-Writes"))

	now = now.Add(time.Second)
	_, err = take("sql", "GET", "a")
	require.Nil(t, err, "one a second comes back")
	_, err = take("sql", "GET", "a")
	require.NotNil(t, err)
	now = now.Add(time.Hour)
	header, err = take("sql", "GET", "a")
	require.Nil(t, err)
	require.Equal(t, "3599", header.Get("X-Ms-Ratelimit-Remaining-Subscription-Reads"), "never more than full")

	l.forget(now)
	require.Len(t, l.callers, 1, "the caller whose bucket is not full is kept")
	now = now.Add(-2 * time.Hour)
	_, err = take("sql", "GET", "a")
	require.Nil(t, err, "a clock that goes back takes nothing")
}
