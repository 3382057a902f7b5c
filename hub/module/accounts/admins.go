package accounts

// IsLastAdmin reports whether users[i] is the only active administrator of a tenant's
// users. The caller has locked users: otherwise two administrators could remove each
// other at once.
func IsLastAdmin[U any](users []U, i int, isActiveAdmin func(U) bool) bool {
	for j, user := range users {
		if isActiveAdmin(user) != (j == i) {
			return false
		}
	}
	return true
}
