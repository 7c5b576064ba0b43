package actions

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/executions"
)

// A confirmation of many databases names some, and has the IDs of all in a file for the command and
// in T-SQL. More than a run is limited to are refused.
func TestManyChosenDatabases(t *testing.T) {
	c := &page.Choice{Run: uuid.New(), Of: 9000}
	for range executions.MaxOnlyTargets {
		c.Databases = append(c.Databases, page.ChosenDatabase{ID: uuid.New(), Server: "s", Database: "d", Ended: []string{"Failed", "Succeeded"}})
	}
	require.Equal(t, "on 5,000 chosen databases of 9,000 of the run: s/d, s/d, s/d, s/d, s/d, s/d, s/d, s/d, s/d, s/d and 4,990 more", describeChoice(c))
	require.Len(t, chosenFields(c), 1)
	list := commandsOn(c, "--targets", []string{"execution", "rerun", "x"}, "jobs.sp_rerun_job_execution", nil)
	require.Equal(t, "jobagent execution rerun x --targets '@targets.txt'", list[0].Text)
	require.Equal(t, page.DoorTargets, list[len(list)-1].Door)
	only, err := limit(c.Databases)
	require.NoError(t, err)
	require.Len(t, only, executions.MaxOnlyTargets)

	c.Databases = append(c.Databases, page.ChosenDatabase{ID: uuid.New()})
	_, err = limit(c.Databases)
	require.EqualError(t, err, "invalid : 5,001 databases are chosen, and a run is limited to 5,000 at most. Go back, and filter.")
	require.Empty(t, chosenFields(c))
}

// The chosen databases on which a step ended in a wanted state are run again; all of them, if the
// run did not reach a step.
func TestEndedSo(t *testing.T) {
	c := &page.Choice{Databases: []page.ChosenDatabase{{Database: "a", Ended: []string{"Succeeded"}}, {Database: "b", Ended: []string{"Succeeded", "Failed"}}}}
	require.Equal(t, c.Databases[1:], endedSo(c, []string{"Failed", "TimedOut"}))
	require.Equal(t, map[string]int{"Succeeded": 2, "Failed": 1}, countChosen(c))
	c.Unreached = true
	require.Len(t, endedSo(c, []string{"Failed"}), 2)
}
