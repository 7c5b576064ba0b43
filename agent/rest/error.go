package rest

import (
	"net/http"
	"time"
)

// Code says what is wrong with a request. Surfaces translate codes to those of their API; a surface
// may use further codes of its API.
type Code string

// The codes that the server itself gives.
const (
	CodeUnauthenticated  Code = "Unauthenticated"      // 401
	CodeHidden           Code = "ResourceNotFound"     // 404: the caller may see nothing here
	CodeForbidden        Code = "Forbidden"            // 403
	CodeUnknownPath      Code = "UnknownPath"          // 404
	CodeInvalidPath      Code = "InvalidPath"          // 400: a segment . or .., or a slash behind the path of a change
	CodeMethodNotAllowed Code = "MethodNotAllowed"     // 405; the server sets Allow
	CodeInvalidQuery     Code = "InvalidQuery"         // 400
	CodeBodyTooLarge     Code = "BodyTooLarge"         // 413
	CodeUnsupportedMedia Code = "UnsupportedMediaType" // 415
	CodeBodyNotRead      Code = "BodyNotRead"          // 400: the client ended the request early
	CodeInvalidBody      Code = "InvalidBody"          // 400: no JSON of the operation's form; Details say where
	CodeTooManyRequests  Code = "TooManyRequests"      // 429
	CodeInternal         Code = "Internal"             // 500
	CodeUnavailable      Code = "Unavailable"          // 503; the server sets RetryAfter

	// The codes of a [Directory], all 404.
	CodeSubscriptionNotFound     Code = "SubscriptionNotFound"
	CodeServerNotInSubscription  Code = "SubscriptionDoesNotHaveServer"
	CodeServerNotInResourceGroup Code = "ServerNotInSubscriptionResourceGroup"
)

// Error is an error that the client is told.
type Error struct {
	// Status is the HTTP status.
	Status int
	Code   Code
	// Message is a sentence for people. It holds no secret.
	Message string
	// Target is the element of the request that is wrong: a JSON path, or the name of a query
	// parameter.
	Target string
	// Details are the single faults.
	Details []Detail
	// RetryAfter is the value of the header Retry-After; 0 means none.
	RetryAfter time.Duration
	// Header is added to the answer's header.
	Header http.Header
}

// Detail is one fault of several.
type Detail struct{ Code, Message, Target string }

// Error implements error.
func (e *Error) Error() string { return e.Message }
