// Package actions has what people can do in the dashboard. Each action asks first: its form says
// what will happen, with numbers. What may happen is decided by procedures.
package actions

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/dberror"
)

// Set returns the actions. choose chooses databases of a run.
func Set(choose page.Chooser) page.Set {
	one := func(path string, confirm confirmFunc, do doFunc) page.Action {
		return page.Action{Path: path, Role: rest.RoleOperator, Confirm: confirm, Do: do}
	}
	return page.Set{Name: "actions", Actions: append(rolloutActions(one), []page.Action{
		one("/jobs/{job}/start", confirmStart, start),
		one("/jobs/{job}/enable", confirmEnable(true), enable(true)),
		one("/jobs/{job}/disable", confirmEnable(false), enable(false)),
		one("/runs/{run}/stop", confirmStop, stop),
		one("/runs/{run}/retry-now", confirmRetries(false), changeRetries(false)),
		one("/runs/{run}/give-up", confirmRetries(true), changeRetries(true)),
		one("/runs/{run}/rerun", confirmRerun(choose), rerun(choose)),
		one("/runs/{run}/start", confirmStartChosen(choose), startChosen(choose)),
		one("/schedules/{job}/{schedule}/enable", confirmEnable(true), enable(true)),
		one("/schedules/{job}/{schedule}/disable", confirmEnable(false), enable(false)),
		one("/schedules/{job}/{schedule}/pause", confirmPause(true), pause(true)),
		one("/schedules/{job}/{schedule}/resume", confirmPause(false), pause(false)),
		one("/schedules/{job}/{schedule}/backfill", confirmBackfill, backfill),
		one("/callbacks/{run}/{step}/{target}/complete", confirmComplete, complete),
		one("/databases/{target}/pause", confirmPauseDatabase, pauseDatabase),
		one("/databases/{target}/resume", confirmResumeDatabase, resumeDatabase),
		{Path: "/databases/{target}/baseline", Role: rest.RoleAuthor, Confirm: confirmSetBaseline, Do: setBaseline},
		{Path: "/drift-baselines/{baseline}/delete", Role: rest.RoleAuthor, Confirm: confirmDeleteBaseline, Do: deleteBaseline},
		{Path: "/windows/{window}/delete", Role: rest.RoleAuthor, Confirm: confirmDeleteWindow, Do: deleteWindow},
		{Path: "/jobs/{job}/triggers/{trigger}/delete", Role: rest.RoleAuthor, Confirm: confirmDeleteTrigger, Do: deleteTrigger},
		one("/windows/pause", confirmPauseNamed, pauseNamed),
		one("/questions/ask", confirmAsk, ask),
		one("/questions/{question}/cancel", confirmCancelQuestion, cancelQuestion),
		one("/alerts/{alert}/acknowledge", confirmAcknowledge, acknowledge),
	}...)}
}

// id returns a parameter of the path that is a GUID. Another text names nothing.
func id(r *page.Request, name string) (uuid.UUID, error) {
	text := r.Value(name)
	if one, err := uuid.Parse(text); err == nil && len(text) == 36 { // uuid.Parse takes more forms
		return one, nil
	}
	return uuid.Nil, dberror.ErrExecutionNotFound
}

// operation returns the ID of the form.
func operation(r *page.Request) (uuid.UUID, error) {
	one, err := uuid.Parse(r.Operation)
	if err != nil {
		return uuid.Nil, fmt.Errorf("operation of a form: %w", err)
	}
	return one, nil
}

// refuse makes an error of a procedure about an argument an error of a field. numbers are those of
// the errors that are about the field.
func refuse(err error, field string, numbers ...int32) error {
	for _, n := range numbers {
		if dberror.NumberOf(err) == n {
			return &page.InputError{Field: field, Problem: dberror.MessageOf(err)}
		}
	}
	return err
}

// value returns what was typed into a field.
func value(r *page.Request, field string) string {
	return strings.TrimSpace(strings.ReplaceAll(r.Form.Get(field), "\r\n", "\n"))
}

// quoted writes a name inside a sentence.
func quoted(name string) string { return "“" + name + "”" }

// instant writes an instant inside a sentence.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// commands joins the equivalents of a command line and of a procedure.
func commands(cli []page.Equivalent, tsql page.Equivalent) []page.Equivalent {
	return append(cli, tsql)
}

// number returns a parameter of the path that is a number.
func number(r *page.Request, name string) (int64, bool) {
	n, err := strconv.ParseInt(r.Value(name), 10, 64)
	return n, err == nil && n > 0
}
