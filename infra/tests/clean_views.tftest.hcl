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
    condition     = toset([for name in ["refresh_view", "launch_batch"] : google_cloudfunctions2_function.function[name].service_config[0].environment_variables["ONEFOLD_CLEAN_DATASETS"]]) == toset(["shop"])
    error_message = "The function that writes views, and the batches, know which datasets have clean views."
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

run "pulled" {
  command = plan

  variables {
    datasets    = ["shop", "ads_clicks"]
    clean_views = ["shop", "ads_clicks"]
    pulls       = { ads = { databases = ["clicks"], secret = "ads-password" } }

    settings_folder = "./tests/settings"
    access_trigger = {
      repository   = "projects/my-project/locations/europe-west1/connections/github/repositories/warehouse"
      state_bucket = "my-project-onefold-terraform"
    }
  }

  assert {
    condition     = { for one in google_bigquery_dataset_access.clean : one.dataset[0].dataset[0].dataset_id => one.dataset_id } == { shop__views_clean = "shop", ads_clicks__views_clean = "ads_clicks__views_full" }
    error_message = "The dataset of the full views of a pulled table authorizes the clean views, since they read the full views."
  }
  assert {
    condition     = toset([for one in google_bigquery_dataset_iam_member.access : one.dataset_id]) == toset(["shop", "ads_clicks", "ads_clicks__views_full", "shop__views_clean", "ads_clicks__views_clean"])
    error_message = "The account that applies access.yaml serves the datasets of views, and not those of keys."
  }
  assert {
    condition     = toset(output.dataset_grants.views) == toset(["ads_clicks__views_full", "shop__views_clean", "ads_clicks__views_clean"])
    error_message = "The output of grants names all datasets of views."
  }
  assert {
    condition = toset([for one in output.dataset_grants.grants : one.member if one.dataset == "ads_clicks__keys" && one.role == "roles/bigquery.dataViewer"]) == toset([
      "serviceAccount:onefold-refresh-view@my-project.iam.gserviceaccount.com",
      "serviceAccount:onefold-batch@my-project.iam.gserviceaccount.com",
    ])
    error_message = "The output of grants has the rights on keys, which belong to the dataset."
  }
  assert {
    condition     = length([for one in output.dataset_grants.grants : one if one.member == "serviceAccount:pull-ads@my-project.iam.gserviceaccount.com"]) == 2
    error_message = "The output of grants has those of the account that pulls."
  }
}

run "none" {
  command = plan

  assert {
    condition     = length(google_bigquery_dataset.clean) + length(google_bigquery_dataset.keys) + length(google_bigquery_dataset_access.clean) == 0
    error_message = "Without clean_views nothing is created."
  }
}
