// Package care has the clinic's rules that need neither database nor network: CPFs and phone
// numbers, amounts of money, statuses, and what connected products may see.
package care
