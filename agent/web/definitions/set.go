// Package definitions has the pages about jobs, target groups and schedules.
package definitions

import (
	"embed"
	"strconv"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
)

//go:embed *.html *.css
var files embed.FS

// Set returns the pages.
func Set() page.Set {
	reader := func(path string, handle page.Page) page.Page {
		handle.Path, handle.Role = path, rest.RoleReader
		return handle
	}
	return page.Set{Name: setName, Files: files, Topics: topics, Pages: []page.Page{
		reader("/jobs", page.Page{Handle: listJobs}),
		reader("/jobs/{job}", page.Page{Handle: showJob}),
		reader("/jobs/{job}/versions/{version}", page.Page{Handle: showVersion}),
		reader("/jobs/{job}/diff", page.Page{Handle: showDiff}),
		reader("/triggers", page.Page{Handle: showTriggers}),
		reader("/schedules", page.Page{Handle: listSchedules}),
		reader("/schedules/{job}/{schedule}", page.Page{Handle: showSchedule}),
		reader("/groups", page.Page{Handle: listGroups}),
		reader("/groups/{group}", page.Page{Handle: showGroup}),
	}}
}

// number returns a number of a query or path; absent if it is none.
func number(text string, absent int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return absent
	}
	return n
}
