// Package questions has the pages about questions to target groups, which agents carry out.
package questions

import (
	"embed"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
)

//go:embed *.html *.css *.js
var files embed.FS

// setName is the name of the set.
const setName = "questions"

// Set returns the pages.
func Set() page.Set {
	return page.Set{
		Name: setName, Files: files,
		Pages: []page.Page{
			{Path: "/questions", Role: rest.RoleOperator, Handle: list},
			{Path: "/questions/{question}", Role: rest.RoleOperator, Handle: one},
			{Path: "/questions/{question}/answers", Role: rest.RoleOperator, Handle: download},
		},
		Topics: []live.Topic{
			{Pattern: "questions", Interval: 2 * time.Second, Operators: true, Open: openList},
			{Pattern: "question/{id}", Interval: time.Second, Operators: true, Open: openOne},
		},
	}
}
