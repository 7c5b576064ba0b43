// Package etag makes and compares entity tags. A tag is a hash of an object's id and
// revision, so it says nothing about either.
package etag

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
)

// New returns the strong tag of an object's revision, with its quotes.
func New(id string, revision int64) string {
	sum := sha256.Sum256([]byte(strings.ToLower(id) + "\x00" + strconv.FormatInt(revision, 10)))
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// Values of @if_match that stand for no revision.
const (
	absent  int64 = 0
	present int64 = -1
)

// Condition is what the headers If-Match and If-None-Match of a request ask for.
type Condition struct {
	tags        []string // of If-Match; nil: the header is not there
	any         bool     // If-Match: *
	noneMatches bool     // If-None-Match: *
}

// Parse reads the condition of a request. Other values of If-None-Match than * are for reading, and
// ignored.
func Parse(h http.Header) Condition {
	var c Condition
	for _, line := range h.Values("If-Match") {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" {
				c.any = true
			} else if tag != "" {
				c.tags = append(c.tags, tag)
			}
		}
	}
	c.noneMatches = strings.TrimSpace(h.Get("If-None-Match")) == "*"
	return c
}

// NeedsRevision reports whether Expect needs the object's current tag.
func (c Condition) NeedsRevision() bool { return !c.any && len(c.tags) > 0 }

// Expect returns the revision that the procedure has to find: the argument ifMatch of methods of
// controldb; nil means any. id and revision are the object's; revision 0 means that there is none.
// They matter only if NeedsRevision. The error is a 412.
func (c Condition) Expect(id string, revision int64) (*int64, error) {
	value := func(v int64) (*int64, error) { return &v, nil }
	switch {
	case c.NeedsRevision():
		if revision > 0 {
			tag := New(id, revision)
			for _, one := range c.tags {
				if one == tag {
					return value(revision)
				}
			}
		}
		return nil, Failed("The resource was changed, created or deleted meanwhile: it does not have the ETag of the header If-Match.")
	case c.any && c.noneMatches:
		return nil, Failed("If-Match: * and If-None-Match: * exclude each other.")
	case c.any:
		return value(present)
	case c.noneMatches:
		return value(absent)
	}
	return nil, nil
}

// Failed returns the error about a condition that does not hold.
func Failed(message string) error {
	return &rest.Error{Status: http.StatusPreconditionFailed, Code: "PreconditionFailed", Message: message}
}
