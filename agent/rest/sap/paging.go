package sap

import (
	"net/url"
	"strconv"

	"github.com/jobagent/jobagent/agent/rest"
)

const (
	// defaultPage is the size of a page if a request has an offset only.
	defaultPage = 10
	// maxJobs, maxSchedules and maxRuns are the largest pages of jobs, schedules and run logs.
	maxJobs, maxSchedules, maxRuns = 100, 1000, 200
)

// The texts of SAP for invalid values of paging. The second follows the first.
const (
	textPageSize = "Invalid Page Size"
	textOffset   = "Invalid Offset"
)

// page is the part of a list that a request asks for.
type page struct {
	// given says that the request has a size or an offset.
	given bool
	// size is 0 if the request has neither.
	size, offset int
}

// parsePage reads page_size and offset. It returns all faults, in their order.
func parsePage(q rest.Query, largest int) (p page, faults []fault) {
	if text, ok := q.Get("page_size"); ok {
		p.given = true
		n, ok := number(text, largest)
		if !ok || n < 1 {
			faults = append(faults, fault{text: textPageSize})
		}
		p.size = n
	}
	if text, ok := q.Get("offset"); ok {
		p.given = true
		n, ok := number(text, 1<<31-1)
		if !ok {
			faults = append(faults, fault{text: textOffset})
		}
		p.offset = n
	}
	if p.given && p.size == 0 {
		p.size = defaultPage
	}
	return p, faults
}

// number parses a whole number of at most largest, written with digits only.
func number(text string, largest int) (int, bool) {
	if !isDigits(text) || len(text) > 10 {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n <= largest
}

// isDigits reports whether a text has digits only, at least one.
func isDigits(text string) bool {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text != ""
}

// urls returns the relative addresses of the previous and of the next page of a list with a total;
// nil at the ends of the list. extra precedes page_size, and is empty or ends with "&".
func (p page) urls(path, extra string, total int) (prev, next *string) {
	if p.size == 0 {
		return nil, nil
	}
	base := path + "?" + extra + "page_size=" + strconv.Itoa(p.size)
	if p.offset > 0 {
		text := base
		if before := p.offset - p.size; before > 0 {
			text += "&offset=" + strconv.Itoa(before)
		}
		prev = &text
	}
	if after := p.offset + p.size; after < total {
		text := base + "&offset=" + strconv.Itoa(after)
		next = &text
	}
	return prev, next
}

// searchParameter returns the parameter q for the addresses of the pages of a search.
func searchParameter(q string) string { return "q=" + url.QueryEscape(q) + "&" }
