package actions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// The page that has the job is found, however many jobs have its name in theirs.
func TestFindJob(t *testing.T) {
	t.Parallel()
	store, _ := testenv.Embedded(t, testenv.Options{}).Control(t)
	for _, name := range []string{"a x", "b x", "c x", "x", "x y"} {
		_, err := catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: name})
		require.NoError(t, err)
	}
	for job, want := range map[string]string{"X": "c x", "a x": "", "x y": "x"} {
		f := executions.TargetFilter{JobSearch: job, Top: lackingTop, Jobs: 1, Lacking: true}
		if job == "x y" {
			f.JobSearch = "x"
		}
		known, err := findJob(t.Context(), store, &f, job)
		require.NoError(t, err)
		require.True(t, known, job)
		require.Equal(t, want, f.AfterJob, job)
		require.True(t, f.Lacking)
		require.Equal(t, lackingTop, f.Top)
	}
	f := executions.TargetFilter{JobSearch: "x", Top: lackingTop, Jobs: 1}
	known, err := findJob(t.Context(), store, &f, "gone x")
	require.NoError(t, err)
	require.False(t, known)
}
