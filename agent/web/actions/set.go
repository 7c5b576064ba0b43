// Package actions has what people can do in the dashboard. Each action asks first.
package actions

import "github.com/jobagent/jobagent/agent/web/page"

// Set returns the pages.
func Set() page.Set { return page.Set{Name: "actions"} }
