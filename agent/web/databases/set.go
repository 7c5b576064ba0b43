// Package databases has the pages about databases over all runs: what jobs last did on them, which
// databases lack a job, one database, and the search for everything that has a name.
package databases

import (
	"embed"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
)

//go:embed *.html *.css
var files embed.FS

// Set returns the pages.
func Set() page.Set {
	return page.Set{Name: "databases", Files: files, Pages: []page.Page{
		{Path: "/databases", Role: rest.RoleReader, Handle: showMatrix},
		{Path: "/databases/{target}", Role: rest.RoleReader, Handle: showDatabase},
		{Path: "/search", Role: rest.RoleReader, Handle: showSearch},
	}}
}
