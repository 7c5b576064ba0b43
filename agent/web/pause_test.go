package web_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/identity"
	"github.com/jobagent/jobagent/testenv/front"
)

// Each page of a paused control database says so. The test is not parallel, because others start
// runs. It uses entries that no test before it has visited: what a page says is a few seconds old.
func TestPauseOnEachPage(t *testing.T) {
	f := front.Shared(t)
	b := as(t, f, "reader")
	before := b.get("/ui/s2~twin/jobs")
	require.Equal(t, http.StatusOK, before.Status)
	require.NotContains(t, before.Body, `id="paused"`)
	require.NoError(t, identity.On(f.Store).Pause(t.Context(), "until <Monday>"))
	defer func() {
		require.NoError(t, identity.On(f.Store).Resume(context.WithoutCancel(t.Context()), time.Time{}))
	}()
	for _, path := range []string{"/", "/runs", "/jobs", "/groups", "/schedules", "/agents", "/limits", "/alerts"} {
		a := b.get("/ui/s1~twin" + path)
		require.Equal(t, http.StatusOK, a.Status, path)
		require.Contains(t, a.Body, `id="paused"`, path)
		require.Contains(t, a.Body, "until &lt;Monday&gt;", path)
		require.Contains(t, a.Body, "jobagent db resume", path)
	}
}
