// Package overview has the first page of a control database.
package overview

import "github.com/jobagent/jobagent/agent/web/page"

// Set returns the pages.
func Set() page.Set { return page.Set{Name: "overview"} }
