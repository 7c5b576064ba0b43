package jobs

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckName checks the rule for names of all objects, as the procedure jobs_internal.check_name
// does for an object that is added or renamed: a name has visible characters only, and no other
// meaning in an address or a file. Some kinds of objects have stricter rules. An empty name is
// another fault.
func CheckName(name string) error {
	if err := CheckVisible(name); err != nil {
		return err
	}
	const blanks = " \u00a0"
	path := "/" + strings.ReplaceAll(name, `\`, "/") + "/"
	if strings.Trim(name, blanks) != name || strings.HasSuffix(name, ".") ||
		strings.Contains(path, "/./") || strings.Contains(path, "/../") {
		return fmt.Errorf(`invalid name %q: want no blank at an end, no period at the end, and no part . or .. beside / or \`, name)
	}
	return nil
}

// CheckVisible checks the part of the rule that also applies to names of servers, databases and
// logins (jobs_internal.check_external_names): a name has no invisible character.
func CheckVisible(name string) error {
	if i := strings.IndexFunc(name, isHidden); i >= 0 {
		r, _ := utf8.DecodeRuneInString(name[i:])
		return fmt.Errorf("invalid name: U+%04X is not visible; want a name without control characters and marks of direction", r)
	}
	return nil
}

// isHidden reports whether a character is invisible: control characters, the soft hyphen,
// separators of lines and paragraphs, marks of direction, and characters without a shape. The
// joiners U+200C and U+200D are permitted, because scripts and emojis need them.
func isHidden(r rune) bool {
	switch {
	case r < 0x20, 0x7f <= r && r <= 0x9f, r == 0xad, r == 0x61c, r == 0x180e, r == 0x200b, r == 0x200e, r == 0x200f,
		0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, r == 0xfeff, 0xfff9 <= r && r <= 0xfffb:
		return true
	}
	return false
}
