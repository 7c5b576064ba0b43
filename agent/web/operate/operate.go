// Package operate has the pages about agents, limits, alerts and the audit log.
package operate

import (
	"embed"
	"html/template"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
)

//go:embed *.html *.css
var files embed.FS

// name is the name of the set.
const name = "operate"

// Set returns the pages.
func Set() page.Set {
	return page.Set{
		Name: name, Files: files,
		Pages: []page.Page{
			{Path: "/agents", Role: rest.RoleReader, Handle: agentsPage},
			{Path: "/limits", Role: rest.RoleReader, Handle: limitsPage},
			{Path: "/windows", Role: rest.RoleReader, Handle: windowsPage},
			{Path: "/audit", Role: rest.RoleReader, Handle: auditPage},
			{Path: "/alerts", Role: rest.RoleReader, Handle: alertsPage},
			{Path: "/alerts/{alert}", Role: rest.RoleReader, Handle: alertPage},
		},
		Topics: []live.Topic{
			{Pattern: topicAgents, Interval: 3 * time.Second, Operators: true, Open: open(readAgents, agentBlocks...)},
			{Pattern: topicCounts, Interval: 3 * time.Second, Open: open(readCounts, agentBlocks[0])},
			{Pattern: topicLimits, Interval: 3 * time.Second, Open: open(readLimits, limitBlocks...)},
			{Pattern: topicAlerts, Interval: 5 * time.Second, Open: open(readOpenAlerts, alertBlocks...)},
		},
	}
}

// clock is embedded by the data of pages that show ages.
type clock struct {
	// Now is the database's time.
	Now time.Time
	// ages is true where the server writes ages: not in live updates, because they would change
	// with each read. The base script writes them there.
	ages bool
}

// Ago shows an instant as an age or a delay.
func (c clock) Ago(t time.Time) template.HTML {
	if c.ages {
		return page.When(c.Now, t)
	}
	return page.When(t, t)
}
