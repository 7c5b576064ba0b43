package operate

import (
	"context"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// shownHolds is the number of pauses and of windows on a page.
const shownHolds = 200

// windowsData is what the page of windows and pauses shows.
type windowsData struct {
	Pauses  []pauseRow
	Windows []windowRow
	// MorePauses and MoreWindows are paths of the next ones; empty: there are none.
	MorePauses, MoreWindows string
	clock
}

// pauseRow is a paused database.
type pauseRow struct {
	holds.Pause
	// Search finds the database among those on which jobs ran, of which a paused one need not be.
	// Change is the path below which the forms of its pause are.
	Search, Change string
}

// windowRow is a window with its state now.
type windowRow struct {
	holds.Window
	// Open says that it is open, and Changes when that ends; zero: it does not within a year.
	Open    bool
	Changes time.Time
	// Fault says why it is not known; empty: it is.
	Fault string
}

// Shown is the word for its state.
func (w windowRow) Shown() string {
	switch {
	case w.Fault != "":
		return "Faulted"
	case w.Open:
		return "Open now"
	}
	return "Closed"
}

// windowsPage makes the page of windows and pauses.
func windowsPage(ctx context.Context, r *page.Request) (*page.View, error) {
	d := &windowsData{clock: clock{Now: r.Now, ages: true}}
	pauses, next, err := controldb.ReadPage(page.After[uuid.UUID](r.Query("pauses")), shownHolds, func(p controldb.Page[uuid.UUID]) ([]holds.Pause, error) {
		return holds.On(r.Store).Pauses(ctx, p)
	}, func(p holds.Pause) uuid.UUID { return p.Target })
	if err != nil {
		return nil, err
	}
	for _, p := range pauses {
		d.Pauses = append(d.Pauses, pauseRow{p, r.Path("databases") + "?" + url.Values{"search": {p.Database}}.Encode(), r.Path("databases", p.Target.String())})
	}
	if next != nil {
		d.MorePauses = r.Path("windows") + "?pauses=" + controldb.Token(*next) + "#pauses"
	}
	if err := d.addWindows(ctx, r); err != nil {
		return nil, err
	}
	return &page.View{
		Title: "Windows and pauses", Nav: "databases", Template: "windows", Data: d, Crumbs: []page.Link{{Text: "Databases", Href: r.Path("databases")}},
		Actions: []page.Link{
			{Text: "Pause a database", Href: r.Path("windows", "pause"), Role: rest.RoleOperator},
			{Text: "New window", Href: r.Path("new", "window"), Role: rest.RoleAuthor},
		},
		Equivalents: append(append(page.CLI("target", "pauses"), page.CLI("target", "window", "list")...), page.Equivalent{
			Door: page.DoorTSQL, Text: "SELECT * FROM jobs.target_pauses ORDER BY database_name, server_name;\nSELECT * FROM jobs.target_windows ORDER BY window_name;",
		}),
	}, nil
}

// addWindows adds the windows, evaluated as agents do it.
func (d *windowsData) addWindows(ctx context.Context, r *page.Request) error {
	windows, next, err := controldb.ReadPage(page.After[string](r.Query("windows")), shownHolds, func(p controldb.Page[string]) ([]holds.Window, error) {
		return holds.On(r.Store).Windows(ctx, p)
	}, func(w holds.Window) string { return w.Name })
	if err != nil {
		return err
	}
	if next != nil {
		d.MoreWindows = r.Path("windows") + "?windows=" + controldb.Token(*next) + "#windows"
	}
	calendars, err := timetable.On(r.Store).Calendars(ctx, "")
	if err != nil {
		return err
	}
	specs := map[string]string{}
	for _, c := range calendars {
		specs[c.Name] = c.Spec
	}
	for _, w := range windows {
		row := windowRow{Window: w}
		row.Open, row.Changes, row.Fault = schedule.NamedOpenTimes{
			Calendar: w.Calendar, Spec: specs[w.Calendar], Blackouts: w.Blackouts, BlackoutsSpec: specs[w.Blackouts], Zone: w.Zone,
		}.StateAt(r.Now)
		d.Windows = append(d.Windows, row)
	}
	return nil
}
