package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/browser"
)

// put types a text into a field of a form, as far as the form notices.
func (s *shop) put(p *browser.Page, field, text string) {
	s.t.Helper()
	require.NoError(s.t, p.Eval(fmt.Sprintf(`(() => { const e = document.getElementById("f-" + %q); if (e.type === "checkbox") e.checked = %q !== ""; else e.value = %q; })()`, field, text, text), nil))
}

// push presses a button of a form, and waits for the answer.
func (s *shop) push(p *browser.Page, button string) {
	s.t.Helper()
	require.NoError(s.t, p.Eval("window.stale = true", nil))
	require.NoError(s.t, p.Eval(fmt.Sprintf(`[...document.querySelectorAll('button[name="do"]')].find(e => e.value === %q && !e.classList.contains("hidden")).click()`, button), nil))
	require.NoError(s.t, p.Until("!window.stale && document.readyState === 'complete'"))
}

// focus returns the id of the element that has the focus.
func (s *shop) focus(p *browser.Page) (id string) {
	s.t.Helper()
	require.NoError(s.t, p.Until("document.activeElement !== document.body"))
	require.NoError(s.t, p.Eval("document.activeElement.id", &id))
	return id
}

// A person makes a target group, a job with a step and a schedule, and the other objects, and edits
// the step, in several widths and both schemes. Faults, rows and previews have the focus; what the
// previews show runs, and axe-core finds nothing.
func TestFormsInBrowser(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	s := openShop(t)
	for i, o := range []browser.Options{{Width: 390, Dark: true}, {Width: 1920}} {
		p := s.page(o)
		open := func(path string) {
			t.Helper()
			require.NoError(t, p.Open(s.dev.rest+s.base+path))
			s.clean(p, fmt.Sprintf("%s at %d", path, o.Width))
		}
		// save looks at the form with a fault, at the preview and what it shows, and saves.
		save := func(what, field, right string) {
			t.Helper()
			what = fmt.Sprintf("%s at %d", what, o.Width)
			s.put(p, field, "")
			s.push(p, "save")
			require.Equal(t, "f-"+field, s.focus(p), "%s: the first fault has the focus", what)
			for _, problem := range p.Problems() { // the browser notes the status of a form with faults
				require.Contains(t, problem, "status of 422", what)
			}
			s.clean(p, what+" with a fault")
			s.put(p, field, right)
			s.push(p, "preview")
			require.Equal(t, "preview", s.focus(p), what)
			s.clean(p, what+" with a preview")
			s.equivalents(p, what)
			if *pictures != "" {
				require.NoError(t, p.Picture(filepath.Join(*pictures, strings.ReplaceAll(what, " ", "-")+".png")))
			}
			s.push(p, "save")
			var problem string
			require.NoError(t, p.Eval(`document.querySelector(".notice.bad")?.textContent ?? ""`, &problem))
			require.Empty(t, problem, what)
			s.clean(p, what+", saved")
		}
		group, job := fmt.Sprintf("Some shops %d", i), fmt.Sprintf("Count orders %d", i)
		open("/new/group")
		s.put(p, "name", group)
		s.push(p, "add:members")
		require.Equal(t, "f-members[0].server", s.focus(p))
		s.put(p, "members[0].server", "sql1.example.com")
		s.push(p, "add:members")
		s.put(p, "members[1].server", "sql1.example.com")
		s.put(p, "members[1].database", "template")
		s.put(p, "members[1].exclude", "true")
		save("a target group", "members[0].server", "sql1.example.com")

		open("/jobs")
		s.follow(p, "New job")
		s.put(p, "description", "Counts <b>orders</b>\nof it's shops")
		s.push(p, "add:parameters")
		s.put(p, "parameters[0].name", "days")
		save("a job", "name", job)
		s.follow(p, "Add a step")
		s.put(p, "name", "count")
		s.put(p, "target_group", group)
		s.put(p, "command", "command")
		save("a step", "command.text", "SELECT COUNT(*) FROM dbo.Orders;\nGO\nPRINT N'it''s';")
		s.follow(p, "Edit step 1")
		s.put(p, "output", "true")
		s.put(p, "output.server", "s")
		s.put(p, "output.database", "d")
		save("a step that is edited", "output.table", "t")
		s.follow(p, "Edit step 1")
		s.put(p, "retry_attempts", "3")
		s.put(p, "step_timeout_seconds", "60")
		save("a step of one line", "command.text", "SELECT 'it''s';")
		s.follow(p, "Add a schedule")
		s.put(p, "name", "nightly")
		s.put(p, "schedule", "cron5")
		s.put(p, "zone", "Europe/Berlin")
		save("a schedule", "schedule.text", "0 2 * * *")
		s.follow(p, "Edit")
		save("a schedule that is edited", "schedule.text", "0 3 * * *")

		open("/new/calendar")
		s.put(p, "name", fmt.Sprintf("holidays %d", i))
		save("a calendar", "spec", `{"timeZone": "UTC", "dates": ["2026-12-24"]}`)
		open("/new/limit")
		s.put(p, "scope", "Server")
		s.put(p, "name", fmt.Sprintf("sql%d.example.com", i))
		save("a limit", "max_concurrent_targets", "5")
		open("/new/alert-rule")
		s.put(p, "condition", "RunEnded")
		s.put(p, "job", job)
		save("an alert rule", "name", fmt.Sprintf("orders %d", i))

		// An optional part is shown when it is wanted, and Enter previews.
		open("/jobs")
		s.follow(p, "New job")
		shown := func() (yes bool) {
			require.NoError(t, p.Eval(`Boolean(document.getElementById("f-schedule.count").offsetParent)`, &yes))
			return yes
		}
		require.False(t, shown())
		s.put(p, "schedule", "true")
		require.True(t, shown())
		s.put(p, "name", "x")
		require.NoError(t, p.Eval(`window.stale = true, document.getElementById("f-name").focus()`, nil))
		require.NoError(t, p.Press("\r"))
		require.NoError(t, p.Until("!window.stale && document.readyState === 'complete'"))
		require.Equal(t, "preview", s.focus(p))
		p.Close()
	}
}
