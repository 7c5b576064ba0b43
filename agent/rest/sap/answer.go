package sap

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/sap"
)

// stamp is a time in the usual form of answers, 2015-10-20 04:30:00 in UTC (S-8).
const stamp = time.DateTime

// Other forms of times.
const (
	// stampISO is used for schedules inside of a job.
	stampISO = "2006-01-02T15:04:05.000Z"
	// stampRun is used in run logs; it has no zone.
	stampRun = "2006-01-02T15:04:05"
)

// formatTime formats a time; nil for the zero time.
func formatTime(t time.Time, form string) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(form)
	return &text
}

// raw returns a JSON text as a value; nil for none.
func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// orNull returns a JSON text as a value; null for none.
func orNull(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

// or returns a JSON text as a value, or another one for none.
func or(text, otherwise string) json.RawMessage {
	if text == "" {
		text = otherwise
	}
	return json.RawMessage(text)
}

// The configurations of a job that has none.
const (
	noANS  = `{"onSuccess":false,"onError":false}`
	noCALM = `{"enabled":false}`
)

// successBody is the answer of operations without a result.
type successBody struct {
	Success bool `json:"success"`
}

// jobBody is a job in the answers of E1, E3, E4 and E6.
type jobBody struct {
	ID          *int64          `json:"_id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Action      string          `json:"action"`
	Active      bool            `json:"active"`
	Method      string          `json:"httpMethod" enum:"GET POST PUT DELETE"`
	User        json.RawMessage `json:"user,omitempty"`
	// Start and End are texts, objects, or null.
	Start            json.RawMessage `json:"startTime"`
	End              json.RawMessage `json:"endTime"`
	SignatureVersion int             `json:"signatureVersion"`
	ANS              json.RawMessage `json:"ansConfig"`
	CALM             json.RawMessage `json:"calmConfig"`
	JobType          string          `json:"jobType" enum:"HTTP_ENDPOINT CF_TASK"`
	SubDomain        *string         `json:"subDomain,omitempty"`
	CreatedAt        *string         `json:"createdAt,omitempty"`
	Active2          *int            `json:"ACTIVECOUNT,omitempty"`
	Inactive         *int            `json:"INACTIVECOUNT,omitempty"`
	// Schedules is absent if it is nil.
	Schedules []briefScheduleBody `json:"schedules,omitzero"`
}

// OpenAPIMembers returns the types of the members that are stored as they were sent, for the
// OpenAPI document.
func (jobBody) OpenAPIMembers() map[string]reflect.Type {
	return map[string]reflect.Type{"ansConfig": typeFor[ansRequest](), "calmConfig": typeFor[calmRequest]()}
}

// OpenAPIMembers does the same for a job in a list.
func (listedJobBody) OpenAPIMembers() map[string]reflect.Type { return jobBody{}.OpenAPIMembers() }

// listedJobBody is a job in a list (E2).
type listedJobBody struct {
	ID               int64           `json:"_id"`
	JobID            int64           `json:"jobId"`
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	Action           string          `json:"action"`
	Active           bool            `json:"active"`
	User             *string         `json:"user"`
	Method           string          `json:"httpMethod" enum:"GET POST PUT DELETE"`
	Start            *string         `json:"startTime"`
	End              *string         `json:"endTime"`
	SignatureVersion int             `json:"signatureVersion"`
	ANS              json.RawMessage `json:"ansConfig"`
	CALM             json.RawMessage `json:"calmConfig"`
	JobType          string          `json:"jobType" enum:"HTTP_ENDPOINT CF_TASK"`
	SubDomain        *string         `json:"subDomain"`
	CreatedAt        *string         `json:"createdAt"`
	ActiveCount      int             `json:"ACTIVECOUNT"`
	InactiveCount    int             `json:"INACTIVECOUNT"`
}

// foundJobBody is a job that a search found (E20).
type foundJobBody struct {
	ID               int64               `json:"_id"`
	Name             string              `json:"name"`
	Description      string              `json:"description"`
	Action           string              `json:"action"`
	User             *string             `json:"user"`
	Active           bool                `json:"jobActive"`
	Method           string              `json:"httpMethod" enum:"GET POST PUT DELETE"`
	Start            *string             `json:"jobStartTime"`
	End              *string             `json:"jobEndTime"`
	SignatureVersion int                 `json:"signatureVersion"`
	Schedules        []foundScheduleBody `json:"schedules,omitzero"`
}

// scheduleHead has the members that all answers about schedules begin with.
type scheduleHead struct {
	JobID *int64 `json:"jobId,omitempty"`
	// ID is null for a schedule that is not stored.
	ID          *uuid.UUID `json:"scheduleId"`
	Description string     `json:"description"`
	// Data is a JSON text or an object.
	Data   json.RawMessage `json:"data,omitempty"`
	Type   string          `json:"type" enum:"one-time recurring"`
	Active bool            `json:"active"`
	Start  *string         `json:"startTime"`
	End    *string         `json:"endTime"`
}

// usedMode is the mode of a schedule in answers that show only it.
type usedMode struct {
	Cron           json.RawMessage `json:"cron,omitempty"`
	Time           json.RawMessage `json:"time,omitempty"`
	RepeatInterval json.RawMessage `json:"repeatInterval,omitempty"`
	RepeatAt       json.RawMessage `json:"repeatAt,omitempty"`
}

// allModes are the modes of a schedule; those that it does not use are null.
type allModes struct {
	Cron           json.RawMessage `json:"cron"`
	Time           json.RawMessage `json:"time"`
	RepeatInterval json.RawMessage `json:"repeatInterval"`
	RepeatAt       json.RawMessage `json:"repeatAt"`
}

// briefScheduleBody is a schedule with its mode only (E1, E3, E4, E6, E11).
type briefScheduleBody struct {
	scheduleHead
	usedMode
}

// scheduleBody is a schedule with all modes (E8).
type scheduleBody struct {
	scheduleHead
	allModes
}

// listedScheduleBody is a schedule with its times (E9, E10).
type listedScheduleBody struct {
	scheduleHead
	allModes
	NextRunAt  *string `json:"nextRunAt"`
	ModifiedAt *string `json:"modifiedAt"`
	// Logs is absent if it is nil.
	Logs []loggedRunBody `json:"logs,omitzero"`
}

// foundScheduleBody is a schedule in a search (E20, E21).
type foundScheduleBody struct {
	ID          uuid.UUID       `json:"scheduleId"`
	Description string          `json:"scheduleDescription"`
	Type        string          `json:"type" enum:"one-time recurring"`
	Active      bool            `json:"active"`
	Start       *string         `json:"startTime"`
	End         *string         `json:"endTime"`
	Data        json.RawMessage `json:"data"`
	allModes
	NextRunAt *string     `json:"nextRunAt"`
	Parent    *parentBody `json:"parent,omitempty"`
}

// parentBody is the job of a schedule that a search found.
type parentBody struct {
	ID   int64  `json:"_id"`
	Name string `json:"name"`
	URL  string `json:"jobUrl"`
}

// listBody is a list.
type listBody[T any] struct {
	Total   int     `json:"total"`
	Results []T     `json:"results"`
	Prev    *string `json:"prev_url"`
	Next    *string `json:"next_url"`
}

// searchBody is the result of a search.
type searchBody[T any] struct {
	listBody[T]
	Paged bool `json:"pagination_enabled"`
}

// cursorBody is a list whose pages follow by run ids; an address is absent where the list ends.
type cursorBody struct {
	Total   int       `json:"total"`
	Results []runBody `json:"results"`
	Prev    *string   `json:"prev_url,omitempty"`
	Next    *string   `json:"next_url,omitempty"`
}

// runBody is an entry of a run log (E15, E16).
type runBody struct {
	ID          uuid.UUID `json:"runId"`
	Text        string    `json:"runText"`
	HTTPStatus  *int      `json:"httpStatus"`
	ExecutedAt  *string   `json:"executionTimestamp"`
	Status      string    `json:"runStatus" enum:"SCHEDULED RUNNING COMPLETED"`
	State       string    `json:"runState" enum:"SCHEDULED TRIGGERED ACK_RECVD ACK_NOT_RECVD SUCCESS ERROR REQUEST_ERROR UNKNOWN TIMEOUT"`
	ScheduledAt *string   `json:"scheduleTimestamp"`
	CompletedAt *string   `json:"completionTimestamp"`
}

// loggedRunBody is an entry of the logs of a schedule (E10). Its runText is a JSON text of
// eventBody.
type loggedRunBody struct {
	runBody
	StatusMessage string `json:"statusMessage"`
	Locale        string `json:"locale"`
}

// eventBody is a state that a run has passed.
type eventBody struct {
	Time string `json:"time"`
	Type string `json:"type"`
	Text string `json:"text"`
	Code *int   `json:"code"`
}

// countBody counts jobs (E18).
type countBody struct {
	Active   int `json:"active"`
	Inactive int `json:"inactive"`
}

// parametersBody holds the global parameters (E19).
type parametersBody struct {
	Config []parameterBody `json:"config"`
}

type parameterBody struct {
	Name  string `json:"CONFIG_NAME"`
	Value string `json:"CONFIG_VALUE"`
}

// actionsBody is an action log (E22).
type actionsBody struct {
	Total   int          `json:"total"`
	Results []actionBody `json:"results"`
}

type actionBody struct {
	At       *string    `json:"timestamp"`
	Action   string     `json:"action"`
	User     string     `json:"user"`
	JobID    int64      `json:"jobId"`
	Schedule *uuid.UUID `json:"scheduleId"`
	Text     string     `json:"text"`
}

// previewBody holds the next runs of a schedule (E23).
type previewBody struct {
	Next     *string  `json:"nextRunAt"`
	Upcoming []string `json:"upcoming"`
}

// typeOf returns SAP's name of the kind of a schedule.
func typeOf(mode sap.Mode) string {
	if mode == sap.Time {
		return "one-time"
	}
	return "recurring"
}

// modeValue returns the value of a schedule's mode, as it was sent.
func modeValue(s *sap.Schedule) json.RawMessage {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s.Spec), &members); err != nil {
		return json.RawMessage("null") // the text was checked before it was stored
	}
	return or(string(members[string(s.Mode)]), "null")
}

func used(s *sap.Schedule) (m usedMode) {
	value := modeValue(s)
	switch s.Mode {
	case sap.Cron:
		m.Cron = value
	case sap.Time:
		m.Time = value
	case sap.RepeatInterval:
		m.RepeatInterval = value
	case sap.RepeatAt:
		m.RepeatAt = value
	}
	return m
}

func all(s *sap.Schedule) allModes {
	m := used(s)
	return allModes{
		Cron: orNull(string(m.Cron)), Time: orNull(string(m.Time)), RepeatInterval: orNull(string(m.RepeatInterval)), RepeatAt: orNull(string(m.RepeatAt)),
	}
}

// dataText returns the data of a schedule as a JSON text, or null.
func dataText(data string) json.RawMessage {
	if data == "" {
		return json.RawMessage("null")
	}
	return quoted(data)
}

// quoted returns a text as JSON, without escapes for HTML.
func quoted(text string) json.RawMessage {
	b, err := encode(text)
	if err != nil {
		return json.RawMessage("null") // a text can always be encoded
	}
	return b
}

// idOf returns an id, or nil for none.
func idOf(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// head returns the first members of a schedule. form is that of its times.
func head(s *sap.Schedule, form string) scheduleHead {
	return scheduleHead{
		ID: idOf(s.ID), Description: s.Description, Type: typeOf(s.Mode), Active: s.Active,
		Start: formatTime(s.Start, form), End: formatTime(s.End, form),
	}
}

// created returns a schedule as in E1 and E6, with data as a text.
func created(s *sap.Schedule) briefScheduleBody {
	b := briefScheduleBody{scheduleHead: head(s, stamp), usedMode: used(s)}
	b.Data = dataText(s.Data)
	return b
}

// inJob returns a schedule as in E3 and E4, with data as an object.
func inJob(s *sap.Schedule) briefScheduleBody {
	b := briefScheduleBody{scheduleHead: head(s, stampISO), usedMode: used(s)}
	b.Data = raw(s.Data)
	return b
}

// changed returns a schedule as in E11.
func changed(s *sap.Schedule) briefScheduleBody {
	b := briefScheduleBody{scheduleHead: head(s, stamp), usedMode: used(s)}
	b.Data, b.JobID = raw(s.Data), &s.JobID
	return b
}

// added returns a schedule as in E8.
func added(s *sap.Schedule) scheduleBody {
	b := scheduleBody{scheduleHead: head(s, stamp), allModes: all(s)}
	b.Data, b.JobID = dataText(s.Data), &s.JobID
	return b
}

// listed returns a schedule as in E9 and E10.
func listed(s *sap.Schedule) listedScheduleBody {
	b := listedScheduleBody{
		scheduleHead: head(s, stamp), allModes: all(s),
		NextRunAt: formatTime(s.NextRunAt, stamp), ModifiedAt: formatTime(s.ModifiedAt, stamp),
	}
	b.Data = dataText(s.Data)
	return b
}

// found returns a schedule as in E20 and E21.
func found(s *sap.Schedule) foundScheduleBody {
	return foundScheduleBody{
		ID: s.ID, Description: s.Description, Type: typeOf(s.Mode), Active: s.Active,
		Start: formatTime(s.Start, stamp), End: formatTime(s.End, stamp), Data: dataText(s.Data),
		allModes: all(s), NextRunAt: formatTime(s.NextRunAt, stamp),
	}
}

// userOf returns the user of a job, or nil.
func userOf(name string) *string {
	if name == "" {
		return nil
	}
	return &name
}

// listedJob returns a job as in E2.
func listedJob(j *sap.Job) listedJobBody {
	return listedJobBody{
		ID: j.ID, JobID: j.ID, Name: j.Name, Description: j.Description, Action: j.Action, Active: j.Active,
		User: userOf(j.User), Method: j.Method, Start: formatTime(j.Start, stamp), End: formatTime(j.End, stamp),
		ANS: or(j.Ans, noANS), CALM: or(j.Calm, noCALM), JobType: j.JobType, SubDomain: userOf(j.SubDomain),
		CreatedAt: formatTime(j.CreatedAt, stamp), ActiveCount: j.ActiveCount, InactiveCount: j.InactiveCount,
	}
}

// oneJob returns a job as in E3 and E4.
func oneJob(j *sap.Job, schedules bool) jobBody {
	b := jobBody{
		ID: &j.ID, Name: j.Name, Description: j.Description, Action: j.Action, Active: j.Active, Method: j.Method,
		User: json.RawMessage("null"), Start: textOf(j.Start), End: textOf(j.End), ANS: or(j.Ans, noANS), CALM: or(j.Calm, noCALM),
		JobType: j.JobType, SubDomain: userOf(j.SubDomain), CreatedAt: formatTime(j.CreatedAt, stamp),
		Active2: &j.ActiveCount, Inactive: &j.InactiveCount,
	}
	if j.User != "" {
		b.User = quoted(j.User)
	}
	if schedules {
		b.Schedules = []briefScheduleBody{}
		for i := range j.Schedules {
			b.Schedules = append(b.Schedules, inJob(&j.Schedules[i]))
		}
	}
	return b
}

func textOf(t time.Time) json.RawMessage {
	if text := formatTime(t, stamp); text != nil {
		return quoted(*text)
	}
	return json.RawMessage("null")
}

// foundJob returns a job as in E20.
func foundJob(j *sap.Job, schedules bool) foundJobBody {
	b := foundJobBody{
		ID: j.ID, Name: j.Name, Description: j.Description, Action: j.Action, User: userOf(j.User), Active: j.Active,
		Method: j.Method, Start: formatTime(j.Start, stamp), End: formatTime(j.End, stamp),
	}
	if schedules {
		b.Schedules = []foundScheduleBody{}
		for i := range j.Schedules {
			b.Schedules = append(b.Schedules, found(&j.Schedules[i]))
		}
	}
	return b
}

// run returns an entry of a run log.
func run(r *sap.Run, form string) runBody {
	b := runBody{
		ID: r.ID, Text: r.Text, Status: r.Status, State: r.State, ExecutedAt: formatTime(r.ExecutedAt, form),
		ScheduledAt: formatTime(r.ScheduledAt, form), CompletedAt: formatTime(r.CompletedAt, form),
	}
	if r.HTTPStatus != 0 {
		b.HTTPStatus = &r.HTTPStatus
	}
	return b
}

// statusMessages are SAP's sentences about states; other states have none.
var statusMessages = map[string]string{
	"SCHEDULED":     "The job has been scheduled for a future run",
	"REQUEST_ERROR": "Error encountered while sending job execution request to the endpoint",
	"ERROR":         "Error encountered while sending job execution request to the endpoint",
}

// taskMessages are the same about tasks.
var taskMessages = map[string]string{
	"SCHEDULED":     statusMessages["SCHEDULED"],
	"REQUEST_ERROR": "Error encountered while creating the task",
	"ERROR":         "The task has failed",
	"TIMEOUT":       "The task did not end in time and was stopped",
}

// loggedRun returns an entry of the logs of a schedule.
func loggedRun(r *sap.Run) (loggedRunBody, error) {
	events := []eventBody{}
	for _, e := range r.Events {
		one := eventBody{Time: e.At.UTC().Format(stamp), Type: e.Type, Text: e.Text}
		if e.Code != 0 {
			one.Code = &e.Code
		}
		events = append(events, one)
	}
	b := loggedRunBody{runBody: run(r, stamp), StatusMessage: statusMessages[r.State], Locale: "en"}
	if r.Task {
		b.StatusMessage = taskMessages[r.State]
	}
	text, err := encode(events)
	b.Text = string(text)
	return b, err
}
