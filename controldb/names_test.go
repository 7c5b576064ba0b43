package controldb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/naming"
)

// TestNames: what completes the arguments of the command line, and finds the name that was meant.
func TestNames(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.exec(t, `EXECUTE jobs_internal.ensure_system_jobs @server_name = N's';`)
		c.job(t, "j", nil)
		c.job(t, "k's [50_]", nil)
		c.job(t, "kx", nil)
		runs := map[string]uuid.UUID{}
		for i, id := range []string{"abcd0000-0000-4000-8000-000000000001", "abcd0000-0000-4000-8000-000000000002", "ef000000-1234-4000-8000-000000000003"} {
			runs[id] = uuid.MustParse(id)
			_, err := executions.On(c.Store).StartJob(ctx, []string{"j", "kx", "k's [50_]"}[i], runs[id])
			require.NoError(t, err)
		}
		list := func(f naming.Filter) []string {
			found, err := naming.On(c.Store).List(ctx, f)
			require.NoError(t, err)
			return names(found, func(n naming.Name) string { return n.Name })
		}
		require.Equal(t, []string{"j", "k's [50_]", "kx"}, list(naming.Filter{Kind: naming.OfJobs}), "without system jobs")
		require.Equal(t, []string{"j"}, list(naming.Filter{Kind: naming.OfJobs, Limit: 1}))
		require.Equal(t, []string{"k's [50_]"}, list(naming.Filter{Kind: naming.OfJobs, Prefix: "k's [50_"}), "no pattern")
		require.Empty(t, list(naming.Filter{Kind: naming.OfJobs, Prefix: "%"}))
		require.Equal(t, []string{"step 1"}, list(naming.Filter{Kind: naming.OfSteps, Of: "kx"}))
		// Every kind can be read, with a prefix and without.
		for kind := naming.OfJobs; kind <= naming.OfQuestions; kind++ {
			list(naming.Filter{Kind: kind, Of: "x"})
			require.Empty(t, list(naming.Filter{Kind: kind, Prefix: "no such name"}), kind)
		}
		_, err := naming.On(c.Store).List(ctx, naming.Filter{Kind: -1})
		require.ErrorContains(t, err, "invalid kind")

		byPrefix := func(prefix string) []string {
			found, err := naming.On(c.Store).Executions(ctx, prefix, 10)
			require.NoError(t, err)
			for _, n := range found {
				require.WithinDuration(t, time.Now(), n.Created, time.Minute)
			}
			return names(found, func(n naming.Name) string { return fmt.Sprint(n.Name, " ", n.Detail) })
		}
		require.Len(t, byPrefix("ABCD"), 2)
		require.Equal(t, []string{"ef000000-1234-4000-8000-000000000003 k's [50_], Created"}, byPrefix("ef00000012"), "without the hyphen")
		require.Equal(t, byPrefix("ef00"), byPrefix("ef000000-12"))
		require.Equal(t, byPrefix("ef00"), byPrefix("ef000000-1234-4000-8000-000000000003"))
		require.Empty(t, byPrefix("abce"))
	})
}
