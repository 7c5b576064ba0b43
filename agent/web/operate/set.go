// Package operate has the pages about agents, limits, alerts and the audit log.
package operate

import "github.com/jobagent/jobagent/agent/web/page"

// Set returns the pages.
func Set() page.Set { return page.Set{Name: "operate"} }
