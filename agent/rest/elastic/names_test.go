package elastic_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/front"
)

// TestNameOfDots does what clients do with a job that is named like a segment of dots: they shorten
// the path, and a DELETE of the job would be one of the job agent.
func TestNameOfDots(t *testing.T) {
	f := front.Shared(t)
	ok(t, f, 201, "PUT", at("jobs", "dots"), obj{})
	for _, c := range []struct{ method, path string }{
		{"PUT", "/jobs/%2e%2e"}, {"PUT", "/jobs/.."}, {"PUT", "/jobs/%2e"}, {"PUT", "/targetGroups/.."}, {"PUT", "/jobs/dots/steps/.."}, {"PUT", "/credentials/.."},
		{"PUT", "/jobs/..%2Fx"}, {"PUT", "/jobs/a%5C.."}, {"DELETE", "/jobs/.."}, {"GET", "/jobs/.."}, {"DELETE", "/"}, {"PUT", "/"}, {"DELETE", "/jobs/dots/"},
	} {
		a := f.Do(t, c.method, front.A+c.path+front.Version, obj{})
		require.Equal(t, 400, a.Status, "%s %s: %s", c.method, c.path, a.Body)
		require.Equal(t, "InvalidPath", a.Code(t), "%s %s", c.method, c.path)
	}
	refused(t, f, 400, "ElasticJobsOperationFailed", "50093", "PUT", at("jobs", "end."), obj{})
	refused(t, f, 400, "ElasticJobsOperationFailed", "50093", "PUT", front.A+"/jobs/a%0d%0ab"+front.Version, obj{})
	ok(t, f, 200, "GET", at("jobs", "dots"), nil)

	// A job that is older than the rule of names.
	id := `UPDATE j SET j.name = N'..' FROM jobs_internal.jobs AS j WHERE j.name = N'dots'; SELECT 1 AS done;`
	rows(t, f, id)
	defer func() {
		rows(t, f, `UPDATE j SET j.name = N'dots' FROM jobs_internal.jobs AS j WHERE j.name = N'..'; SELECT 1 AS done;`)
		ok(t, f, 200, "DELETE", at("jobs", "dots"), nil)
	}()
	shortened, err := url.JoinPath("https://front", front.A, "jobs", "..")
	require.NoError(t, err)
	u, err := url.Parse(shortened + "/")
	require.NoError(t, err)
	a := f.Do(t, "DELETE", u.Path+front.Version, nil)
	require.Equal(t, 400, a.Status, a.Body)
	require.Equal(t, 200, f.Do(t, "GET", front.A+front.Version, nil).Status, "the job agent is there")
	require.NotContains(t, f.Do(t, "GET", front.A+"/jobs"+front.Version, nil).Body, "/jobs/..")
}
