package page

import (
	"github.com/jobagent/jobagent/agent/rest"
)

// The phases of a run, on which its actions depend (see [View.Phase]).
const (
	runActive       = "active"
	runSucceeded    = "succeeded"
	runUnsuccessful = "unsuccessful"
)

// RunPhase is the phase of a run. active says that the run has not ended, and succeeded that it
// ended as Succeeded.
func RunPhase(active, succeeded bool) string {
	switch {
	case active:
		return runActive
	case succeeded:
		return runSucceeded
	}
	return runUnsuccessful
}

// RunTitle is the title of the pages that show a whole run: the tabs tell them apart.
func RunTitle(job string) string { return "Run of " + job }

// RunActions are the actions of all pages of a run. path is the path of the run's page.
func RunActions(path string) []Link {
	return []Link{
		{Text: "Stop", Href: path + "/stop", Danger: true, Role: rest.RoleOperator, When: runActive},
		{Text: "Rerun what failed", Href: path + "/rerun", Role: rest.RoleOperator, When: runUnsuccessful},
	}
}
