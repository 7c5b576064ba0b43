// Package definitions has the pages about jobs, target groups and schedules.
package definitions

import "github.com/jobagent/jobagent/agent/web/page"

// Set returns the pages.
func Set() page.Set { return page.Set{Name: "definitions"} }
