package civil

import "strings"

// Names in English, as every system here has them; Monday first.
var (
	WeekdayNames = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	MonthNames   = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
)

// ParseWeekday finds a weekday by its full name in any case.
func ParseWeekday(text string) (int, bool) {
	for i, name := range WeekdayNames {
		if strings.EqualFold(name, text) {
			return i, true
		}
	}
	return 0, false
}

// ShortNames are the first three letters in lower case, turned so that the list begins at an index.
func ShortNames(names []string, from int) []string {
	var short []string
	for i := range names {
		short = append(short, strings.ToLower(names[(i+from)%len(names)][:3]))
	}
	return short
}
