# Datasets of clean views and keys, which are created only where they are named.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project  = "my-project"
  region   = "europe-west1"
  datasets = ["shop", "crm"]
}

run "named" {
  command = plan

  variables {
    clean_views = ["shop"]
  }

  assert {
    condition     = [for one in google_bigquery_dataset.clean : one.dataset_id] == ["shop__views_clean"] && [for one in google_bigquery_dataset.keys : one.dataset_id] == ["shop__keys"]
    error_message = "Only the named dataset has clean views."
  }
  assert {
    condition     = alltrue([for one in concat(values(google_bigquery_dataset.clean), values(google_bigquery_dataset.keys)) : one.location == "europe-west1" && !one.delete_contents_on_destroy])
    error_message = "The datasets lie where the tables do, and are not destroyed with their content."
  }
  assert {
    condition = toset([for one in google_bigquery_dataset.keys["shop"].access : join(" ", compact([one.role, one.special_group, one.user_by_email])) if length(one.dataset) == 0]) == toset([
      "OWNER projectOwners",
      "READER onefold-refresh-view@my-project.iam.gserviceaccount.com",
      "READER onefold-batch@my-project.iam.gserviceaccount.com",
    ])
    error_message = "Nobody has a right on the keys but owners, and the two accounts that write clean views."
  }
  assert {
    condition     = [for one in google_bigquery_dataset.keys["shop"].access : one.dataset[0].dataset[0].dataset_id if length(one.dataset) > 0] == ["shop__views_clean"]
    error_message = "The clean views may read the key."
  }
  assert {
    condition     = [for one in google_bigquery_dataset_access.clean : "${one.dataset_id} ${one.dataset[0].dataset[0].dataset_id} ${join(",", one.dataset[0].target_types)}"] == ["shop shop__views_clean VIEWS"]
    error_message = "The clean views may read the dataset of the current views."
  }
  assert {
    condition = toset([for one in google_bigquery_dataset_iam_member.clean : "${one.dataset_id} ${one.member}"]) == toset([
      "shop__views_clean serviceAccount:onefold-refresh-view@my-project.iam.gserviceaccount.com",
      "shop__views_clean serviceAccount:onefold-batch@my-project.iam.gserviceaccount.com",
    ]) && alltrue([for one in google_bigquery_dataset_iam_member.clean : one.role == google_project_iam_custom_role.views.name])
    error_message = "The accounts that write current views write clean views."
  }
}

run "views_elsewhere" {
  command = plan

  variables {
    clean_views  = ["crm"]
    view_dataset = "{dataset}_unified"
  }

  assert {
    condition     = google_bigquery_dataset_access.clean["crm"].dataset_id == "crm_unified"
    error_message = "The dataset in which current views live authorizes the clean views."
  }
}

run "none" {
  command = plan

  assert {
    condition     = length(google_bigquery_dataset.clean) + length(google_bigquery_dataset.keys) + length(google_bigquery_dataset_access.clean) == 0
    error_message = "Without clean_views nothing is created."
  }
}
