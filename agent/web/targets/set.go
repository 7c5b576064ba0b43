// Package targets has the pages about the targets of a run.
package targets

import "github.com/jobagent/jobagent/agent/web/page"

// Set returns the pages.
func Set() page.Set { return page.Set{Name: "targets"} }
