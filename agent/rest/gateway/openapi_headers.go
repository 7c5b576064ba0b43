package gateway

import (
	"net/http"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
)

// header describes a header of answers. Headers of HTTP that say nothing about an operation, such
// as Content-Type, Cache-Control and those of CORS, are in no document.
type header struct {
	text   string
	schema object
	always bool
}

// Schemas of headers.
var (
	textHeader    = object{"type": "string"}
	uuidHeader    = object{"type": "string", "format": "uuid"}
	addressHeader = object{"type": "string", "format": "uri"}
	numberHeader  = object{"type": "integer", "format": "int32", "minimum": 0}
)

// The headers about what is left of the caller's limits.
const (
	leftReads     = "X-Ms-Ratelimit-Remaining-Subscription-Reads"
	leftWrites    = "X-Ms-Ratelimit-Remaining-Subscription-Writes"
	leftDeletes   = "X-Ms-Ratelimit-Remaining-Subscription-Deletes"
	leftResources = "X-Ms-Ratelimit-Remaining-Subscription-Resource-Requests"
	burstReads    = "X-Ms-Ratelimit-Burst-Remaining-Scheduler-Reads"
	burstWrites   = "X-Ms-Ratelimit-Burst-Remaining-Scheduler-Writes"
)

// headers are the headers of answers, by their canonical names.
var headers = map[string]header{
	"X-Ms-Request-Id":             {"Id of the request.", uuidHeader, true},
	"X-Ms-Correlation-Request-Id": {"Id of the requests that belong together: that of the request, or a new one.", uuidHeader, true},
	"X-Ms-Routing-Request-Id":     {"Region, time and correlation id.", textHeader, true},
	"X-Ms-Client-Request-Id":      {"The client's id of the request, if x-ms-return-client-request-id is true.", textHeader, false},
	"X-Ms-Error-Code":             {"Code of the error with which the run ended.", textHeader, false},
	"X-Ms-Failure-Cause":          {"gateway: no operation has the path.", textHeader, false},
	leftReads:                     {"Requests that read, left for the caller in this hour.", numberHeader, false},
	leftWrites:                    {"Requests that write, left for the caller in this hour.", numberHeader, false},
	leftDeletes:                   {"Requests that delete, left for the caller in this hour.", numberHeader, false},
	leftResources:                 {"Requests that write, left for the caller in this hour.", numberHeader, false},
	burstReads:                    {"Requests that read, left for the caller at once.", numberHeader, false},
	burstWrites:                   {"Requests that write, left for the caller at once.", numberHeader, false},
	"Location":                    {"Address of what was made, or of the result to poll.", textHeader, false},
	"Azure-Asyncoperation":        {"Address of the status of the operation.", addressHeader, false},
	"Etag":                        {"Entity tag of the resource.", textHeader, false},
	"Retry-After":                 {"Seconds after which to ask again.", numberHeader, false},
	"Retry-After-Ms":              {"Milliseconds after which to ask again, if they are less than a second.", numberHeader, false},
	"Throttling":                  {"Milliseconds by which the answer was delayed.", numberHeader, false},
	"Www-Authenticate":            {"How to authenticate; with a success the server's proof of a Kerberos ticket.", textHeader, false},
	"Allow":                       {"The methods of the path.", textHeader, false},
}

// headersOf refers to the descriptions of headers, and adds them to the document.
func (s *schemas) headersOf(names []string) object {
	list := object{}
	for _, name := range names {
		one, known := headers[http.CanonicalHeaderKey(name)]
		if !known {
			panic("the header " + name + " has no description")
		}
		s.headers[name] = object{"description": one.text, "required": one.always, "schema": one.schema}
		list[name] = object{"$ref": "#/components/headers/" + name}
	}
	return list
}

// commonHeaders are the headers of every answer of an operation.
func commonHeaders(m *rest.Mount, op rest.Operation) (names []string) {
	if op.Role != rest.RoleNone || op.Authenticated {
		names = append(names, "WWW-Authenticate")
	}
	if !m.ARM {
		return names
	}
	names = append(names, "X-Ms-Request-Id", "X-Ms-Correlation-Request-Id", "X-Ms-Routing-Request-Id", "X-Ms-Client-Request-Id")
	scheduler := m.Surface.Name() == "scheduler"
	switch op.Method {
	case http.MethodGet:
		if names = append(names, leftReads); scheduler {
			names = append(names, burstReads)
		}
	case http.MethodDelete:
		names = append(names, leftDeletes)
	default:
		if scheduler {
			return append(names, leftResources, burstWrites)
		}
		names = append(names, leftWrites)
	}
	return names
}

// answerHeaders are the headers of a successful answer.
func answerHeaders(m *rest.Mount, op rest.Operation) []string {
	return append(commonHeaders(m, op), op.Headers...)
}

// failureHeaders are the headers of an answer about a failure.
func failureHeaders(m *rest.Mount, op rest.Operation) []string {
	names := append(commonHeaders(m, op), "WWW-Authenticate", "Retry-After", "Allow")
	if m.ARM {
		names = append(names, "X-Ms-Failure-Cause")
	}
	for _, one := range op.Headers {
		if strings.EqualFold(one, "Throttling") {
			names = append(names, one)
		}
	}
	return names
}

// requestHeader are the headers of requests, by name.
var requestHeader = map[string]string{
	"If-Match":        "Changes the resource only if it has one of these entity tags; * means only if there is one.",
	"If-None-Match":   "GET: entity tags that the client has. PUT: * means only if there is no resource yet.",
	"Idempotency-Key": "Key by which a repeated request is told from a new one.",
}

// requestHeaders describes the headers of requests.
func requestHeaders(m *rest.Mount, op rest.Operation) (list []object) {
	add := func(name, text string, schema object) {
		list = append(list, object{"name": name, "in": "header", "description": text, "schema": schema})
	}
	for _, name := range op.RequestHeaders {
		add(name, requestHeader[name], textHeader)
	}
	if m.ARM {
		add("x-ms-client-request-id", "The client's id of the request.", textHeader)
		add("x-ms-return-client-request-id", "true: the answer has the client's id.", object{"type": "boolean"})
		add("x-ms-correlation-request-id", "Id of the requests that belong together.", uuidHeader)
	}
	return list
}
