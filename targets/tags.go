package targets

// Tags are the tags of one database that a query of a target group returned.
type Tags struct {
	Target Target
	// Values has the value of each tag by its name; nil removes the tag.
	Values map[string]*string
}

// Limits of tags, as in jobs.sp_set_target_tags: the largest number of UTF-16 code units of a
// value, and of characters of a name.
const (
	MaxTagValue = 256
	MaxTagName  = 128
)

// IsTagName reports whether a text can be the name of a tag: letters, digits, _, - and . of ASCII.
func IsTagName(name string) bool {
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '.':
		default:
			return false
		}
	}
	return name != "" && len(name) <= MaxTagName
}
