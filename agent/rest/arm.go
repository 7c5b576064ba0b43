package rest

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
)

// armError is the body of an error of Azure Resource Manager.
type armError struct {
	Error armErrorBody `json:"error" body:"required"`
}

// armErrorBody is the object of an error, and of each of its details.
type armErrorBody struct {
	Code    string         `json:"code" body:"required"`
	Message string         `json:"message" body:"required"`
	Target  string         `json:"target,omitempty"`
	Details []armErrorBody `json:"details,omitempty"`
}

// ARMFailureBody is the type of the body of an error of Azure Resource Manager.
func ARMFailureBody() reflect.Type { return reflect.TypeFor[armError]() }

// ARMFailure returns the answer to an error in the form of Azure Resource Manager. The codes of the
// server are translated to those of its gateway; the ARM surfaces translate errors of the control
// database to an *[Error] before they call it. Any other error is answered with status 500, and
// nothing of it is shown.
func ARMFailure(err error) *Response {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Status: http.StatusInternalServerError, Code: CodeInternal, Message: "Internal error."}
	}
	body := armErrorBody{Code: armCode(e.Code), Message: e.Message, Target: e.Target}
	for _, d := range e.Details {
		body.Details = append(body.Details, armErrorBody{Code: d.Code, Message: d.Message, Target: d.Target})
	}
	return &Response{Status: e.Status, Body: armError{body}}
}

// armCodes are the gateway's codes where they differ from the server's.
var armCodes = map[Code]string{
	CodeUnauthenticated: "AuthenticationFailed",
	CodeForbidden:       "AuthorizationFailed",
	CodeUnknownPath:     "InvalidResourceType",
	CodeInvalidQuery:    "InvalidQueryParameterValue",
	CodeBodyTooLarge:    "RequestEntityTooLarge",
	CodeBodyNotRead:     "InvalidRequestContent",
	CodeInvalidBody:     "InvalidRequestContent",
	CodeTooManyRequests: "SubscriptionTooManyRequests",
	CodeUnavailable:     "ServiceUnavailable",
	CodeInternal:        "InternalServerError",
}

// armCode translates a code of the server.
func armCode(c Code) string {
	if text, ok := armCodes[c]; ok {
		return text
	}
	return string(c)
}

// stamp sets the headers that every answer has.
func (e *exchange) stamp(header http.Header) {
	r := e.request
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Mount == nil || !r.Mount.ARM {
		if header.Get("Cache-Control") == "" {
			header.Set("Cache-Control", "no-store")
		}
		return
	}
	header.Set("Cache-Control", "no-cache")
	header.Set("Pragma", "no-cache")
	header.Set("Expires", "-1")
	header.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
	header.Set("X-Ms-Request-Id", r.RequestID.String())
	correlation := r.CorrelationID.String()
	header.Set("X-Ms-Correlation-Request-Id", correlation)
	header.Set("X-Ms-Routing-Request-Id", strings.Join([]string{
		e.server.cfg.Region, e.started.UTC().Format("20060102T150405Z"), correlation,
	}, ":"))
	if id := r.HTTP.Header.Get("X-Ms-Client-Request-Id"); id != "" && len(id) <= 128 &&
		strings.EqualFold(r.HTTP.Header.Get("X-Ms-Return-Client-Request-Id"), "true") {
		header.Set("X-Ms-Client-Request-Id", id)
	}
}
