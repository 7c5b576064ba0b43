// Package runs has the list of runs, and the page of a run.
package runs

import "github.com/jobagent/jobagent/agent/web/page"

// Set returns the pages.
func Set() page.Set { return page.Set{Name: "runs"} }
