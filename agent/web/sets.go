package web

import (
	"github.com/jobagent/jobagent/agent/web/actions"
	"github.com/jobagent/jobagent/agent/web/code"
	"github.com/jobagent/jobagent/agent/web/databases"
	"github.com/jobagent/jobagent/agent/web/definitions"
	"github.com/jobagent/jobagent/agent/web/drift"
	"github.com/jobagent/jobagent/agent/web/forms"
	"github.com/jobagent/jobagent/agent/web/operate"
	"github.com/jobagent/jobagent/agent/web/overview"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/agent/web/questions"
	"github.com/jobagent/jobagent/agent/web/rollouts"
	"github.com/jobagent/jobagent/agent/web/runs"
	"github.com/jobagent/jobagent/agent/web/targets"
)

// Sets returns all sets of pages.
func Sets() []page.Set {
	ofRuns, choose := runs.Set()
	return []page.Set{overview.Set(), ofRuns, rollouts.Set(), targets.Set(), databases.Set(), drift.Set(), definitions.Set(), questions.Set(), operate.Set(), actions.Set(choose), forms.Set(), code.Set()}
}
