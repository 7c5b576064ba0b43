package page

import (
	"github.com/jobagent/jobagent/agent/rest"
)

// The phases of a run, on which its actions depend (see [View.Phase]).
const (
	runActive       = "active"
	runSucceeded    = "succeeded"
	runUnsuccessful = "unsuccessful"
	runRetrying     = "retrying"
)

// RunPhase is the phase of a run. active says that the run has not ended, retrying that something
// of it waits for another attempt, and succeeded that it ended as Succeeded.
func RunPhase(active, retrying, succeeded bool) string {
	switch {
	case active && retrying:
		return runActive + " " + runRetrying
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
		{Text: "Retry now", Href: path + "/retry-now", Role: rest.RoleOperator, When: runRetrying},
		{Text: "Give up what waits", Href: path + "/give-up", Danger: true, Role: rest.RoleOperator, When: runRetrying},
		{Text: "Rerun what failed", Href: path + "/rerun", Role: rest.RoleOperator, When: runUnsuccessful},
	}
}
