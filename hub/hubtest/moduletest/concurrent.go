package moduletest

import (
	"fmt"
	"sync"
)

// Concurrently makes requests at the same moment and returns their responses in the same
// order.
func Concurrently(requests ...func() Response) []Response {
	responses := make([]Response, len(requests))
	start := make(chan struct{})
	var group sync.WaitGroup
	for i, request := range requests {
		group.Go(func() {
			<-start
			responses[i] = request()
		})
	}
	close(start)
	group.Wait()
	return responses
}

// Repeat returns a request n times.
func Repeat(n int, request func() Response) []func() Response {
	requests := make([]func() Response, n)
	for i := range requests {
		requests[i] = request
	}
	return requests
}

// CountStatuses counts responses by their status.
func CountStatuses(responses []Response) map[int]int {
	counts := make(map[int]int)
	for _, response := range responses {
		counts[response.Status]++
	}
	return counts
}

// SendTogether makes a request n times at the same moment and counts the responses by
// their status.
func SendTogether(n int, request func() Response) map[int]int {
	return CountStatuses(Concurrently(Repeat(n, request)...))
}

// CountCodes counts responses by their status and, of errors, their code, such as
// "409 slot_unavailable".
func CountCodes(responses []Response) map[string]int {
	counts := make(map[string]int)
	for _, response := range responses {
		outcome := fmt.Sprint(response.Status)
		if code, isError := response.Body["code"].(string); isError {
			outcome += " " + code
		}
		counts[outcome]++
	}
	return counts
}
