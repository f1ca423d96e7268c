# Schedules that publish to one topic. Cloud Scheduler publishes as its own agent, whose role includes the right.
variable "schedules" {
  description = "The schedules by a key of their own."
  type = map(object({
    name        = string
    description = string
    schedule    = string # the five fields of cron
    message     = string # as JSON
  }))
}

variable "topic" {
  description = "The id of the topic."
  type        = string
}

variable "region" {
  description = "The region of the schedules."
  type        = string
}

variable "time_zone" {
  description = "The time zone of the schedules."
  type        = string
}

resource "google_cloud_scheduler_job" "schedule" {
  for_each = var.schedules

  name        = each.value.name
  description = each.value.description
  region      = var.region
  schedule    = each.value.schedule
  time_zone   = var.time_zone

  pubsub_target {
    topic_name = var.topic
    data       = base64encode(each.value.message)
  }
}
