package sap

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
)

// The beginnings of messages, by what the request was about. Each ends with ": ".
const (
	creatingJob         = "Error while creating job: "
	configuringJob      = "Error while configuring job: "
	listingJobs         = "Error while fetching list of jobs: "
	fetchingJob         = "Error while fetching job details: "
	creatingSchedule    = "Error while creating job schedule: "
	configuringSchedule = "Error while configuring job schedule: "
	fetchingSchedule    = "Error while fetching job schedule details: "
	listingSchedules    = "Error while fetching list of job schedules: "
	activatingSchedules = "Error while updating activation status of job schedules: "
	listingRuns         = "Error while fetching list of run logs: "
	updatingRun         = "Error while updating run log: "
	listingActions      = "Error while fetching action logs: "
	inAction            = "Error in Job Scheduler action: "
)

// Codes of this surface, beside those of the server.
const (
	codeInvalid  rest.Code = "Invalid"
	codeNotFound rest.Code = "NotFound"
)

// maxFaults bounds the faults of an answer.
const maxFaults = 50

// fault is one thing that is wrong in a request.
type fault struct {
	// text is the message without its beginning.
	text string
	// whole says that text is a message without a beginning, or with its own.
	whole bool
	// detail explains text further. It is shown after it in detailedError.
	detail string
}

// invalid returns the answer to a request with faults (S-2): the message is the beginning and the
// first fault, and detailedError is the beginning and all faults.
func invalid(beginning string, faults ...fault) error {
	if faults[0].whole {
		beginning = ""
	}
	var all []string
	for i, f := range faults {
		if i == maxFaults {
			all = append(all, fmt.Sprintf("and %d more", len(faults)-i))
			break
		}
		text := f.text
		if f.detail != "" {
			text += " (" + f.detail + ")"
		}
		all = append(all, text)
	}
	return &rest.Error{
		Status: http.StatusBadRequest, Code: codeInvalid, Message: beginning + faults[0].text,
		Details: []rest.Detail{{Message: beginning + strings.Join(all, "; ")}},
	}
}

// errNotFound is the answer for everything that is not there, or that another tenant has (S-66).
var errNotFound = &rest.Error{Status: http.StatusNotFound, Code: codeNotFound, Message: "Not Found"}

// errorBody is the body of every failure.
type errorBody struct {
	Code          int    `json:"code"`
	Message       string `json:"message"`
	Type          string `json:"type"`
	DetailedError string `json:"detailedError"`
}

// errorTypes are SAP's names of statuses.
var errorTypes = map[int]string{
	http.StatusBadRequest:            "Bad Request/Invalid Request",
	http.StatusUnauthorized:          "Authentication Error",
	http.StatusForbidden:             "Forbidden Request",
	http.StatusNotFound:              "Resource Not Found",
	http.StatusMethodNotAllowed:      "Method Not Allowed",
	http.StatusRequestEntityTooLarge: "Request Too Large",
	http.StatusTooManyRequests:       "Rate Limit Exceeded",
	http.StatusInternalServerError:   "Internal Server Error",
	http.StatusServiceUnavailable:    "Service Unavailable",
}

// errorMessages are SAP's messages for failures that the server finds by itself.
var errorMessages = map[int]string{
	http.StatusUnauthorized:          "Unauthorized",
	http.StatusForbidden:             "Forbidden",
	http.StatusNotFound:              "Not Found",
	http.StatusMethodNotAllowed:      "Method Not Allowed",
	http.StatusRequestEntityTooLarge: "Request entity too large",
	http.StatusTooManyRequests:       "Too many requests",
	http.StatusInternalServerError:   "Internal Server Error",
	http.StatusServiceUnavailable:    "Service Unavailable",
}
