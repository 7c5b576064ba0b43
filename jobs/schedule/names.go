package schedule

import "strings"

// Names in English, as every system here has them; Monday first.
var (
	weekdayNames = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	monthNames   = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
)

// parseWeekday finds a weekday by its full name in any case.
func parseWeekday(text string) (int, bool) {
	for i, name := range weekdayNames {
		if strings.EqualFold(name, text) {
			return i, true
		}
	}
	return 0, false
}

// shortNames are the first three letters in lower case, turned so that the list begins at an index.
func shortNames(names []string, from int) []string {
	var short []string
	for i := range names {
		short = append(short, strings.ToLower(names[(i+from)%len(names)][:3]))
	}
	return short
}
